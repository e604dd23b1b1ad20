"""Our WordPiece against the `tokenizers` package, on ordinary and on strange texts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from degreespar.party.errors import TextError
from degreespar.party.wordpiece import Tokeniser

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789ABCXYZäöü影片"
VOCABULARY = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS),
    *"!?.,'$()-", "film", "##ing", "the", "good", "un", "##bear", "##able", "not", "do", "it",
)  # fmt: skip
TEXTS = [
    "",
    "The film is unbearable!",
    "don't do it (not good)",
    "  tabs\tand\nlines\r\nand\u00a0hard\u2003blanks ",
    "café naïve Ärger ÄÖÜ",
    "这部影片good影",
    "x" * 100,
    "x" * 101,
    "soft\u00adhyphen zero\u200bwidth bell\x07 null\x00 \ufffd",
    "$5.00 ^^ ~a~ `b` |c| <br /><br />",
    "İstanbul ẞ ﬁlm Ⅳ ½",
    "emoji 🎬 and 🎬good",
    "line\u2028separator\u2029paragraph",
]


def theirs(lower_case: bool) -> Tokenizer:
    numbers = {piece: number for number, piece in enumerate(VOCABULARY)}
    made = Tokenizer(WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(lowercase=lower_case)
    made.pre_tokenizer = BertPreTokenizer()
    made.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


OURS = {lower_case: Tokeniser(VOCABULARY, lower_case) for lower_case in (True, False)}
THEIRS = {lower_case: theirs(lower_case) for lower_case in (True, False)}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("lower_case", [True, False])
def test_pieces_are_those_of_tokenizers(text: str, lower_case: bool) -> None:
    expected = THEIRS[lower_case].encode(text, add_special_tokens=False).tokens
    assert OURS[lower_case].pieces(text) == expected


def settled(character: str) -> bool:
    """The two sides know different versions of Unicode: only what has long been the same is compared."""
    category = unicodedata.category(character)
    return category != "Cn" and unicodedata.ucd_3_2_0.category(character) == category


ASSIGNED = st.text(st.characters(max_codepoint=0x2FFF).filter(settled), max_size=40)


@settings(max_examples=300, deadline=None)
@given(ASSIGNED, st.booleans())
def test_any_text_has_the_pieces_of_tokenizers(text: str, lower_case: bool) -> None:
    expected = THEIRS[lower_case].encode(text, add_special_tokens=False).tokens
    assert OURS[lower_case].pieces(text) == expected


@pytest.mark.parametrize("tokens", [5, 6, 7, 8, 12, 40])
def test_texts_and_pairs_are_cut_as_by_tokenizers(tokens: int) -> None:
    peer = theirs(True)
    peer.enable_truncation(tokens, strategy="longest_first")
    first, second = "the film is good, not unbearable", "do it!"
    for pair in ((first, second), (second, first), (first, first)):
        expected = peer.encode(*pair)
        got = OURS[True].encode(*pair, tokens)
        assert [number for number, _ in got] == expected.ids
        assert [segment for _, segment in got] == expected.type_ids
    assert [number for number, _ in OURS[True].encode(first, None, tokens)] == peer.encode(first).ids


def test_bracketed_names_are_ordinary_text() -> None:
    """A writer of a text cannot smuggle in a separator."""
    assert 3 not in [number for number, _ in OURS[True].encode("good [SEP] film", None, 20)][:-1]


def test_what_is_no_vocabulary_is_refused() -> None:
    with pytest.raises(TextError, match=r"no \[CLS\]"):
        Tokeniser(("[PAD]", "[UNK]", "[SEP]"), True)
    with pytest.raises(TextError, match="twice"):
        Tokeniser((*VOCABULARY, "film"), True)
    with pytest.raises(TextError, match="4 tokens have no room for 2 texts"):
        OURS[True].encode("a", "b", 4)
