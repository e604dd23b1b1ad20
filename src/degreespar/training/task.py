"""What a run learns from: examples to learn, to hold out and to test, and how they are varied.

The seam between data sets and the loop. Held-out examples serve every decision; the test examples are
looked at once, when all decisions are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from degreespar.training.augment import Augmentation
from degreespar.training.data import Pictures, hold_out
from degreespar.training.loop import LoadedPictures


class Examples(Protocol):
    """Labelled inputs on a device."""

    def __len__(self) -> int:
        """How many there are."""

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """What the model is fed at `indices`, and the labels."""


@dataclass(frozen=True)
class Task:
    """One data set, ready for one model."""

    name: str
    training: Examples
    held_out: Examples
    test: Examples
    vary: Callable[[Tensor], Tensor]


def in_order(
    examples: Examples, batch: int, first: int = 0, step: int = 1
) -> Iterator[tuple[Tensor, Tensor]]:
    """Every `step`-th batch of all examples, from number `first` on: what one of several workers takes."""
    for start in range(first * batch, len(examples), step * batch):
        yield examples.take(torch.arange(start, min(start + batch, len(examples))))


def shuffled(
    examples: Examples, count: int, batch: int, seed: int, first: int = 0, step: int = 1
) -> Iterator[tuple[Tensor, Tensor]]:
    """Full batches of `count` examples drawn without repetition; of each batch every `step`-th example."""
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(seed))[:count]
    for chosen in order[: len(order) // batch * batch].view(-1, batch):
        yield examples.take(chosen[first::step])


def picture_task(
    name: str,
    training: Pictures,
    test: Pictures,
    load: Callable[[Pictures], LoadedPictures],
    held_out: int,
    split_seed: int,
    augmentation: Augmentation,
) -> Task:
    """Pictures, `held_out` of the training ones set apart."""
    rest, apart = hold_out(training, held_out, split_seed)
    return Task(name, load(rest), load(apart), load(test), augmentation.apply)
