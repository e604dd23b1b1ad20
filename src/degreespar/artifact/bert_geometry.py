"""The public shape of a BERT with a classification head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from degreespar.artifact.errors import GeometryInvalidError, WrongFieldsError
from degreespar.artifact.geometry import (
    MAX_CLASSES,
    MAX_FFN_WIDTH,
    MAX_LAYERS,
    MAX_TOKENS,
    MAX_WIDTH,
    check_count,
    check_eps,
    check_heads,
)
from degreespar.degree.strict_json import take_float, take_int, take_list, take_object, take_str

MAX_VOCABULARY = 300_000
MAX_SEGMENTS = 16
MAX_LENGTH_CLASSES = 16
# [CLS], one piece, [SEP].
LEAST_TOKENS = 3
PUBLIC_TABLE, PRIVATE_TABLE = "public", "private"
INTEGERS = ("vocabulary", "segments", "positions", "width", "heads", "classes")


@dataclass(frozen=True)
class BertGeometry:
    """Texts padded to one of the length classes; one ffn width for each layer.

    `embedding` says whose the table of words and segments is: "public" (looked up by the client) or
    "private" (the server's, looked up obliviously).
    """

    vocabulary: int
    segments: int
    positions: int
    length_classes: tuple[int, ...]
    embedding: str
    width: int
    heads: int
    ffn_widths: tuple[int, ...]
    classes: int
    layer_norm_eps: float

    def __post_init__(self) -> None:
        _check_limits(self)
        if self.embedding not in (PUBLIC_TABLE, PRIVATE_TABLE):
            raise GeometryInvalidError(
                f'embedding must be "{PUBLIC_TABLE}" or "{PRIVATE_TABLE}", not {self.embedding[:80]!r}'
            )
        if not self.length_classes or any(a >= b for a, b in pairwise(self.length_classes)):
            raise GeometryInvalidError("length_classes must be one or more counts, ascending")
        if self.length_classes[0] < LEAST_TOKENS or self.tokens > self.positions:
            raise GeometryInvalidError(
                f"length classes must lie in {LEAST_TOKENS}..{self.positions}, the positions there are"
            )

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return len(self.ffn_widths)

    @property
    def tokens(self) -> int:
        """How many tokens the longest text has, [CLS] and [SEP] with them."""
        return self.length_classes[-1]

    @property
    def head_width(self) -> int:
        """The width of one attention head."""
        return self.width // self.heads

    @property
    def table_rows(self) -> int:
        """Rows of the table that inputs are looked up in: words, then segments."""
        return self.vocabulary + self.segments

    @property
    def has_public_table(self) -> bool:
        """Whether clients look words up by themselves."""
        return self.embedding == PUBLIC_TABLE

    def at_length(self, tokens: int) -> BertGeometry:
        """The same model for texts of one length class."""
        return replace(self, length_classes=(tokens,))

    def to_json(self) -> dict[str, object]:
        """The geometry as JSON."""
        return {
            **{name: getattr(self, name) for name in INTEGERS},
            "length_classes": list(self.length_classes),
            "embedding": self.embedding,
            "ffn_widths": list(self.ffn_widths),
            "layer_norm_eps": self.layer_norm_eps,
        }

    @classmethod
    def from_json(cls, value: object, where: str) -> BertGeometry:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        keys = (*INTEGERS, "length_classes", "embedding", "ffn_widths", "layer_norm_eps")
        parts = take_object(value, keys, where, WrongFieldsError)
        return cls(
            length_classes=_counts(parts["length_classes"], f"{where}.length_classes"),
            embedding=take_str(parts["embedding"], f"{where}.embedding", WrongFieldsError),
            ffn_widths=_counts(parts["ffn_widths"], f"{where}.ffn_widths"),
            layer_norm_eps=take_float(parts["layer_norm_eps"], f"{where}.layer_norm_eps", WrongFieldsError),
            **{key: take_int(parts[key], f"{where}.{key}", WrongFieldsError) for key in INTEGERS},
        )


def _counts(value: object, where: str) -> tuple[int, ...]:
    items = take_list(value, where, WrongFieldsError)
    return tuple(take_int(item, where, WrongFieldsError) for item in items)


def _check_limits(geometry: BertGeometry) -> None:
    check_count("vocabulary", geometry.vocabulary, MAX_VOCABULARY)
    check_count("segments", geometry.segments, MAX_SEGMENTS)
    check_count("positions", geometry.positions, MAX_TOKENS)
    check_count("the number of length classes", len(geometry.length_classes), MAX_LENGTH_CLASSES)
    for tokens in geometry.length_classes:
        check_count("a length class", tokens, MAX_TOKENS)
    check_count("width", geometry.width, MAX_WIDTH)
    check_count("heads", geometry.heads, MAX_WIDTH)
    check_count("classes", geometry.classes, MAX_CLASSES)
    check_count("the number of layers", geometry.layers, MAX_LAYERS)
    for width in geometry.ffn_widths:
        check_count("an ffn width", width, MAX_FFN_WIDTH)
    check_heads(geometry.width, geometry.heads)
    check_eps(geometry.layer_norm_eps)
