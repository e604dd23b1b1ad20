"""A table of words that clients may hold: taken from a published model, shortened, rounded, never trained.

What a private text trained would speak of that text; a table that stays as it was published tells nothing.
Rounded to eight bits it is a quarter of its size, and a client adds words with no protocol at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from degreespar.models import Bert, TextCheckpoint
from degreespar.party.wordpiece import SPECIAL, Tokeniser
from degreespar.training.texts import LabelledTexts

TABLE_FRAC_BITS = 8
"""Steps of 1/256, of which int8 holds values up to 0.49."""
TABLES = ("words.weight", "segments.weight")


def freeze_tables(model: Bert) -> None:
    """No training step changes the tables of words and segments from now on."""
    for name in TABLES:
        model.get_parameter(name).requires_grad_(False)


def on_grid(table: Tensor) -> Tensor:
    """Rounded to eight bits."""
    units = (table * 2.0**TABLE_FRAC_BITS).round().clamp(-127, 127)
    return units / 2.0**TABLE_FRAC_BITS


def pieces_in_use(tokeniser: Tokeniser, texts: LabelledTexts, least_uses: int) -> list[int]:
    """Special pieces, single ASCII characters (so that every word has pieces), and what is used often."""
    uses = Counter(piece for text, _ in texts.texts for piece in tokeniser.pieces(text))

    def wanted(piece: str) -> bool:
        single = len(piece.removeprefix("##")) == 1 and piece.isascii()
        return piece in SPECIAL or single or uses[piece] >= least_uses

    return [number for number, piece in enumerate(tokeniser.vocabulary) if wanted(piece)]


def with_pieces(whole: TextCheckpoint, kept: Sequence[int]) -> TextCheckpoint:
    """The model with the pieces that `kept` numbers alone, its tables on their grid and frozen."""
    tokeniser = Tokeniser(tuple(whole.tokeniser.vocabulary[number] for number in kept), True)
    model, state = Bert(replace(whole.model.geometry, vocabulary=len(kept))), dict(whole.model.state_dict())
    state["words.weight"] = state["words.weight"][list(kept)]
    for name in TABLES:
        state[name] = on_grid(state[name])
    model.load_state_dict(state)
    freeze_tables(model)
    return TextCheckpoint(model, whole.labels, tokeniser)
