"""The same program in the clear: what a private answer must equal, and what a policy's accuracy is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from degreespar.artifact import LABEL, SCORES, BertGeometry, PublicPart
from degreespar.engine.backend import Backend
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ops import Ops
from degreespar.engine.ring import Integers
from degreespar.engine.saturation import Saturations, merged
from degreespar.numerics.fixed_point import decode
from degreespar.program.bert import BertProgram
from degreespar.program.label import class_of, largest_class
from degreespar.program.vit import VitProgram

Scores = NDArray[np.float64]

SCORES_ANSWER = "the class scores are the client's answer"
LABEL_ANSWER = "the class is the client's answer"


@dataclass(frozen=True)
class Opened:
    """What the client is told: class numbers, and the scores where the artifact opens them."""

    labels: Integers
    scores: Scores | None


def answer(backend: Backend, public: PublicPart, inputs: Integers | None) -> Opened | None:
    """The whole of what a run does with one input, on any engine; None for who must not see it.

    `inputs` (rows, values), with one axis more in front for engines in the clear: a picture's patches,
    or a text's tokens. The model is one of a single length class.
    """
    ops = Ops(backend)
    batch = () if inputs is None else inputs.shape[:-2]
    program = BertProgram if isinstance(public.geometry, BertGeometry) else VitProgram
    logits = program(public).logits(ops, inputs, batch)
    if public.reveal == LABEL:
        opened = ops.reveal(largest_class(ops, logits), because=LABEL_ANSWER)
        return (
            None if opened is None else Opened(class_of(opened, public.geometry.classes).reshape(batch), None)
        )
    opened = ops.reveal(logits, because=SCORES_ANSWER)
    if opened is None:
        return None
    scores = decode(opened, logits.frac_bits)
    return Opened(scores.argmax(axis=-1), scores)


@dataclass(frozen=True)
class Simulated:
    """Class scores of inputs, and how many values left their bounds on the way."""

    scores: Scores
    saturations: Saturations

    @classmethod
    def joined(cls, parts: Sequence[Simulated]) -> Simulated:
        """One after the other."""
        scores = np.concatenate([part.scores for part in parts])
        return cls(scores, merged(part.saturations for part in parts))


@dataclass(frozen=True)
class Oracle:
    """A model whose weights lie open: the fixed-point answer without any cryptography."""

    public: PublicPart
    tensors: Mapping[str, Integers]

    def scores(self, inputs: Integers) -> Scores:
        """Class scores (count, classes) of inputs (count, rows, values), whatever a client is opened."""
        return self.simulate(inputs).scores

    def simulate(self, inputs: Integers) -> Simulated:
        """The same, with what was seen at the calibrated points."""
        backend = ClearBackend(self.tensors)
        opened = answer(backend, replace(self.public, reveal=SCORES), inputs)
        if opened is None or opened.scores is None:
            raise RuntimeError("the clear engine reveals to everyone")
        return Simulated(opened.scores, backend.saturations)

    def simulate_in_batches(
        self, inputs: Integers, batch: int, processes: int, progress: Callable[[int, int], None]
    ) -> Simulated:
        """The same for many inputs, over several processes; progress(done, of)."""
        batches = [inputs[start : start + batch] for start in range(0, len(inputs), batch)]
        parts: list[Simulated] = []
        for part in self._map(batches, processes):
            parts.append(part)
            progress(sum(len(done.scores) for done in parts), len(inputs))
        return Simulated.joined(parts)

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


def _simulate_with_kept(inputs: Integers) -> Simulated:
    return _kept[0].simulate(inputs)
