"""WordPiece, as BERT's vocabularies expect it: from a text to the numbers of its pieces.

Written here and not taken from a package, so that a client needs nothing beyond the base install; a test
compares it with the `tokenizers` package (docs/adr/0050-our-own-wordpiece.md).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from degreespar.party.errors import TextError

PADDING, UNKNOWN, CLASS, SEPARATOR = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
SPECIAL = (PADDING, UNKNOWN, CLASS, SEPARATOR)
CONTINUED = "##"
LONGEST_WORD = 100
"""Characters; a longer word is unknown, as it is to every BERT."""
# Of these blocks every character is a word of its own.
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


@dataclass(frozen=True)
class Tokeniser:
    """A vocabulary, and whether text is lowered and freed of accents before it is looked up."""

    vocabulary: tuple[str, ...]
    lower_case: bool

    def __post_init__(self) -> None:
        missing = [piece for piece in SPECIAL if piece not in self.numbers]
        if missing:
            raise TextError(f"the vocabulary has no {missing[0]}, and is none of a BERT")
        if len(self.numbers) != len(self.vocabulary):
            raise TextError("the vocabulary lists a piece twice")

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each piece."""
        return {piece: number for number, piece in enumerate(self.vocabulary)}

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text, [UNK] for a word that has none."""
        return [piece for word in self.words(text) for piece in self._split(word)]

    def words(self, text: str) -> Iterator[str]:
        """Words and single marks of punctuation. Bracketed names such as [SEP] are ordinary text."""
        for word in _spaced(text).split():
            yield from _parted(_plain(word) if self.lower_case else word)

    def encode(self, first: str, second: str | None, tokens: int) -> list[tuple[int, int]]:
        """(number, segment) of [CLS] first [SEP] (second [SEP]), cut to at most `tokens`.

        As in Hugging Face's `longest_first`: what is too long loses its end, the longer one first.
        """
        parts = [self.pieces(text) for text in (first, second) if text is not None]
        room = tokens - 1 - len(parts)
        if room < len(parts):
            raise TextError(f"{tokens} tokens have no room for {len(parts)} texts")
        sizes = _fitting([len(part) for part in parts], room)
        encoded = [(self.numbers[CLASS], 0)]
        for segment, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            encoded += [(self.numbers[piece], segment) for piece in [*part[:size], SEPARATOR]]
        return encoded

    def _split(self, word: str) -> list[str]:
        """The longest piece that begins the word, then the longest that begins the rest, ..."""
        if len(word) > LONGEST_WORD:
            return [UNKNOWN]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = CONTINUED if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.numbers), None)
            if end is None:
                return [UNKNOWN]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def _fitting(sizes: Sequence[int], room: int) -> list[int]:
    if len(sizes) == 1:
        return [min(sizes[0], room)]
    if sum(sizes) <= room:
        return list(sizes)
    # The longer one is cut, down to the other's size at most; of equal ones the second is the longer.
    shorter = min(*sizes, room // 2)
    longer = room - shorter
    return [longer, shorter] if sizes[0] > sizes[1] else [shorter, longer]


def _spaced(text: str) -> str:
    """Without control characters; a blank for every kind of space and around every ideograph."""
    out = []
    for character in text:
        if character in "\t\n\r" or unicodedata.category(character) == "Zs":
            out.append(" ")
        elif character not in "\x00\ufffd" and not unicodedata.category(character).startswith("C"):
            out.append(f" {character} " if _is_ideograph(character) else character)
    return "".join(out)


def _plain(word: str) -> str:
    """Without accents, and lowered (in this order, as `tokenizers` does)."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").lower()


def _parted(word: str) -> Iterator[str]:
    start = 0
    for position, character in enumerate(word):
        if _is_punctuation(character):
            if start < position:
                yield word[start:position]
            yield character
            start = position + 1
    if start < len(word):
        yield word[start:]


def _is_ideograph(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in IDEOGRAPHS)


def _is_punctuation(character: str) -> bool:
    # ASCII symbols such as $ and ^ too, which Unicode does not call punctuation.
    symbol = character.isascii() and character.isprintable() and not (character.isalnum() or character == " ")
    return symbol or unicodedata.category(character).startswith("P")
