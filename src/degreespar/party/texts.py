"""From a text to the integers that the client brings into a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from degreespar.artifact import BertGeometry, PublicPart, TextPart
from degreespar.artifact.files import read_bounded
from degreespar.degree import TextBounds
from degreespar.engine.ring import Integers
from degreespar.errors import DegreeSparError
from degreespar.party.errors import TextError
from degreespar.party.wordpiece import Tokeniser
from degreespar.program.units import INPUT_FRAC

Text = tuple[str, str | None]
"""A text, and a second one where the model is about pairs."""
MAX_TEXT_BYTES = 4 << 20


@dataclass(frozen=True)
class TextRows:
    """Texts as a program's input (count, tokens, row_values + 1), all of one public length class."""

    tokens: int
    rows: Integers
    cut: tuple[bool, ...]
    """Which texts were longer than the longest class, and lost their end."""


def read_text(path: Path) -> str:
    """A file's text, in UTF-8."""
    try:
        return read_bounded(path, MAX_TEXT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TextError(f"{path} is no text in UTF-8") from error
    except TextError:
        raise
    except DegreeSparError as error:
        raise TextError(str(error)) from error


def to_rows(texts: Sequence[Text], public: PublicPart, client: TextPart) -> TextRows:
    """Tokenised, padded to the shortest length class that holds them all, and looked up.

    The class is public: texts that shall not differ in it belong into one call.
    """
    geometry = public.texts
    tokeniser = Tokeniser(client.vocabulary, client.lower_case)
    if any(second is not None for _, second in texts) and geometry.segments < 2:
        raise TextError(f"{public.name} takes single texts, not pairs")
    whole = [tokeniser.encode(*text, geometry.tokens + 1) for text in texts]
    encoded = [tokeniser.encode(*text, geometry.tokens) for text in texts]
    longest = max(map(len, encoded))
    tokens = next(length for length in geometry.length_classes if length >= longest)
    rows = np.stack([row_of(pieces, tokens, geometry, client) for pieces in encoded])
    _check_bound(rows, public)
    return TextRows(tokens, rows, tuple(len(pieces) > geometry.tokens for pieces in whole))


def row_of(pieces: list[tuple[int, int]], tokens: int, geometry: BertGeometry, client: TextPart) -> Integers:
    """One text (tokens, row_values + 1): padding is the first word of the first segment, masked."""
    padded = np.array([*pieces, *[(0, 0)] * (tokens - len(pieces))])
    words, segments = padded[:, 0], geometry.vocabulary + padded[:, 1]
    if client.table is None or client.table_frac_bits is None:
        values = np.zeros((tokens, geometry.table_rows), dtype=np.int64)
        values[np.arange(tokens), words] = values[np.arange(tokens), segments] = 1 << INPUT_FRAC
    else:
        table = client.table
        values = table[words].astype(np.int64) + table[segments]
        values <<= INPUT_FRAC - client.table_frac_bits
    mask = (np.arange(tokens) < len(pieces)).astype(np.int64)
    return np.concatenate([values, mask[:, None]], axis=1)


def _check_bound(rows: Integers, public: PublicPart) -> None:
    bounds = public.policy.bounds
    if public.texts.has_public_table and isinstance(bounds, TextBounds):
        largest = float(np.abs(rows[..., :-1]).max(initial=0)) / 2.0**INPUT_FRAC
        if largest >= bounds.embedding:
            raise TextError(f"the table has a value of {largest:.1f}, beyond the bound of {bounds.embedding}")
