"""The same program in the clear: what a private answer must equal, and what a policy's accuracy is."""

from __future__ import annotations

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
from degreespar.engine.saturation import Saturations, merged
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
class Simulated:
    """Class scores of pictures, and how many values left their bounds on the way."""

    scores: Scores
    saturations: Saturations


@dataclass(frozen=True)
class Oracle:
    """A model whose weights lie open: the fixed-point answer without any cryptography."""

    public: PublicPart
    tensors: Mapping[str, Integers]

    def scores(self, patches: Integers) -> Scores:
        """Class scores (count, classes) of pictures (count, patches, patch_values)."""
        return self.simulate(patches).scores

    def simulate(self, patches: Integers) -> Simulated:
        """The same, with what was seen at the calibrated points."""
        backend = ClearBackend(self.tensors)
        scores = answer(backend, self.public, patches)
        if scores is None:
            raise RuntimeError("the clear engine reveals to everyone")
        return Simulated(scores, backend.saturations)

    def simulate_in_batches(
        self, patches: Integers, batch: int, processes: int, progress: Callable[[int, int], None]
    ) -> Simulated:
        """The same for many pictures, over several processes; progress(done, of)."""
        batches = [patches[start : start + batch] for start in range(0, len(patches), batch)]
        parts: list[Simulated] = []
        for part in self._map(batches, processes):
            parts.append(part)
            progress(sum(len(done.scores) for done in parts), len(patches))
        return Simulated(
            np.concatenate([part.scores for part in parts]), merged(part.saturations for part in parts)
        )

    def _map(self, parts: list[Integers], processes: int) -> Iterator[Simulated]:
        if processes == 1:
            yield from map(self.simulate, parts)
            return
        # "spawn": a forked child would inherit whatever threads of the parent hold.
        with ProcessPoolExecutor(processes, get_context("spawn"), _keep_oracle, (self,)) as pool:
            yield from pool.map(_simulate_with_kept, parts)


_kept: list[Oracle] = []


def _keep_oracle(oracle: Oracle) -> None:
    """Runs once in each worker, so that the weights travel once and not with every batch."""
    _kept.append(oracle)


def _simulate_with_kept(patches: Integers) -> Simulated:
    return _kept[0].simulate(patches)
