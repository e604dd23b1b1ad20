"""Labelled texts, their hold-out by hash, and the integers that a BERT is fed.

A text is held out for what it says: its hash is taken of its letters and digits in lower case, so that
copies which differ in case, blanks or punctuation fall on the same side, whatever source they come from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from degreespar.party.wordpiece import Tokeniser
from degreespar.training.errors import DataError

Text = tuple[str, str | None]
"""A text, and a second one where the task is about pairs."""

PARTS = 10
TEST_PART, HELD_OUT_PART = 0, 1
"""Of ten parts by hash: one tests, one is held out for decisions, eight train."""


@dataclass(frozen=True)
class LabelledTexts:
    """Texts and their class numbers."""

    texts: tuple[Text, ...]
    labels: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise DataError(f"{len(self.texts)} texts do not go with {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.texts)

    def where(self, chosen: npt.NDArray[np.bool_]) -> LabelledTexts:
        """Those for which `chosen` is true."""
        texts = tuple(text for text, wanted in zip(self.texts, chosen, strict=True) if wanted)
        return LabelledTexts(texts, self.labels[chosen])

    def first(self, count: int | None) -> LabelledTexts:
        """The first `count`, or all."""
        return LabelledTexts(self.texts[:count], self.labels[:count])


@dataclass(frozen=True)
class TextSplits:
    """A data set: what trains, what decides, what is looked at once, and the classes' names."""

    label_names: tuple[str, ...]
    training: LabelledTexts
    held_out: LabelledTexts
    test: LabelledTexts

    def __post_init__(self) -> None:
        for name, part in (("train", self.training), ("hold out", self.held_out), ("test", self.test)):
            if not len(part):
                raise DataError(f"the data leave no text to {name}")
            if part.labels.min() < 0 or part.labels.max() >= len(self.label_names):
                raise DataError(f"a label is not one of the {len(self.label_names)} classes")


@dataclass(frozen=True)
class LoadedTexts:
    """Texts as integers [count, 2, tokens] on a device, as `models.bert.Bert` takes them, and labels."""

    inputs: Tensor
    labels: Tensor

    @staticmethod
    def of(texts: LabelledTexts, tokeniser: Tokeniser, tokens: int, device: torch.device) -> LoadedTexts:
        """Tokenised, cut and padded to `tokens`, and moved to `device`."""
        labels = torch.from_numpy(texts.labels.copy())
        return LoadedTexts(encoded(texts.texts, tokeniser, tokens).to(device), labels.to(device))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """What the model is fed at `indices`, and the labels."""
        chosen = indices.to(self.labels.device)
        return self.inputs[chosen], self.labels[chosen]


def encoded(texts: Iterable[Text], tokeniser: Tokeniser, tokens: int) -> Tensor:
    """[count, 2, tokens]: pieces, and segments counted from 1, where 0 marks padding."""
    rows = []
    for first, second in texts:
        row = np.zeros((2, tokens), dtype=np.int64)
        pieces = tokeniser.encode(first, second, tokens)
        row[:, : len(pieces)] = np.array([(number, segment + 1) for number, segment in pieces]).T
        rows.append(row)
    if not rows:
        raise DataError("there are no texts")
    return torch.from_numpy(np.stack(rows))


def by_hash(texts: LabelledTexts) -> tuple[LabelledTexts, LabelledTexts, LabelledTexts]:
    """(training, held out, test) by the texts' parts."""
    parts = np.array([part_of(text) for text in texts.texts], dtype=np.int64)
    held_out, test = parts == HELD_OUT_PART, parts == TEST_PART
    return texts.where(~(held_out | test)), texts.where(held_out), texts.where(test)


def held_out_by_hash(texts: LabelledTexts) -> tuple[LabelledTexts, LabelledTexts]:
    """(training, held out), for data that come with a test set of their own."""
    held_out = np.array([part_of(text) == HELD_OUT_PART for text in texts.texts], dtype=np.bool_)
    return texts.where(~held_out), texts.where(held_out)


def part_of(text: Text) -> int:
    """Which of the ten parts a text belongs to."""
    return int.from_bytes(hashlib.sha256("\n".join(essence(text)).encode()).digest(), "big") % PARTS


def essence(text: Text) -> tuple[str, ...]:
    """Letters and digits in lower case: equal for copies."""
    whole = tuple(part for part in text if part is not None)
    return tuple("".join(c for c in part.lower() if c.isalnum()) for part in whole)


def without(texts: LabelledTexts, others: LabelledTexts) -> LabelledTexts:
    """The texts of which no copy is among the others: a test set that came with copies of what trains."""
    known = {essence(text) for text in others.texts}
    return texts.where(np.array([essence(text) not in known for text in texts.texts], dtype=np.bool_))
