"""The same program in the clear: what a private answer must equal, and what a policy's accuracy is."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from degreespar.artifact import PublicPart
from degreespar.engine.backend import Backend
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ops import Ops
from degreespar.engine.ring import Integers
from degreespar.numerics.fixed_point import decode
from degreespar.program.vit import VitProgram

Scores = NDArray[np.float64]

ANSWER = "the class scores are the client's answer"


def answer(backend: Backend, public: PublicPart, patches: Integers | None) -> Scores | None:
    """The whole of what a run does with one picture, on any engine; None for who must not see it.

    `patches` (patches, patch_values) or, for engines in the clear, (count, patches, patch_values).
    """
    ops = Ops(backend)
    batch = () if patches is None else patches.shape[:-2]
    logits = VitProgram(public).logits(ops, patches, batch)
    opened = ops.reveal(logits, because=ANSWER)
    return None if opened is None else decode(opened, logits.frac_bits)


@dataclass(frozen=True)
class Oracle:
    """A model whose weights lie open: the fixed-point answer without any cryptography."""

    public: PublicPart
    tensors: Mapping[str, Integers]

    def scores(self, patches: Integers) -> Scores:
        """Class scores (count, classes) of pictures (count, patches, patch_values)."""
        scores = answer(ClearBackend(self.tensors), self.public, patches)
        if scores is None:
            raise RuntimeError("the clear engine reveals to everyone")
        return scores

    def scores_in_batches(
        self, patches: Integers, batch: int, processes: int, progress: Callable[[int, int], None]
    ) -> Scores:
        """The same for many pictures, over several processes; progress(done, of)."""
        parts = [patches[start : start + batch] for start in range(0, len(patches), batch)]
        scores, done = [], 0
        for part in self._map(parts, processes):
            scores.append(part)
            done += len(part)
            progress(done, len(patches))
        return np.concatenate(scores)

    def _map(self, parts: list[Integers], processes: int) -> Iterator[Scores]:
        if processes == 1:
            yield from map(self.scores, parts)
            return
        # "spawn": a forked child would inherit whatever threads of the parent hold.
        with ProcessPoolExecutor(processes, get_context("spawn"), _keep_oracle, (self,)) as pool:
            yield from pool.map(_scores_of_kept, parts)


_kept: list[Oracle] = []


def _keep_oracle(oracle: Oracle) -> None:
    """Runs once in each worker, so that the weights travel once and not with every batch."""
    _kept.append(oracle)


def _scores_of_kept(patches: Integers) -> Scores:
    return _kept[0].scores(patches)
