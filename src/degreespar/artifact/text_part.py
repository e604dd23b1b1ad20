"""The client's part of a model of texts: how a text becomes pieces, and the table that they index."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from degreespar.artifact.bert_geometry import BertGeometry
from degreespar.artifact.canonical import CLIENT_FORMAT, VERSION
from degreespar.artifact.errors import TableInvalidError, VocabularyInvalidError, WrongFieldsError
from degreespar.degree.strict_json import take_int, take_list, take_object, take_str

Table = NDArray[np.int8] | NDArray[np.int16]

SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MAX_PIECE_LENGTH = 200
MAX_TABLE_FRAC_BITS = 12
TABLE_TENSOR = "table"
TABLE_DTYPES = ("int8", "int16")
LARGEST_ITEM_BYTES = 2


@dataclass(frozen=True)
class TextPart:
    """The vocabulary and, where the table is public, its integers: words, then segments.

    An entry stands for integer / 2^table_frac_bits; both are None where the table is the server's.
    """

    vocabulary: tuple[str, ...]
    lower_case: bool
    table_frac_bits: int | None
    table: Table | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.vocabulary)) != len(self.vocabulary):
            raise VocabularyInvalidError("the vocabulary lists a piece twice")
        missing = [piece for piece in SPECIAL_PIECES if piece not in self.vocabulary]
        if missing:
            raise VocabularyInvalidError(f"the vocabulary has no {missing[0]}")
        if not all(1 <= len(piece) <= MAX_PIECE_LENGTH for piece in self.vocabulary):
            raise VocabularyInvalidError(f"a piece must have 1..{MAX_PIECE_LENGTH} characters")
        bits = self.table_frac_bits
        if bits is not None and not (type(bits) is int and 0 <= bits <= MAX_TABLE_FRAC_BITS):
            raise TableInvalidError(f"table_frac_bits must lie in 0..{MAX_TABLE_FRAC_BITS}")

    def to_json(self) -> dict[str, object]:
        """The content of client.json."""
        return {
            "format": CLIENT_FORMAT,
            "version": VERSION,
            "vocabulary": list(self.vocabulary),
            "lower_case": self.lower_case,
            "table_frac_bits": self.table_frac_bits,
        }

    def table_bytes(self) -> bytes | None:
        """The content of client.safetensors, if there is one."""
        return None if self.table is None else bytes(save({TABLE_TENSOR: np.ascontiguousarray(self.table)}))


def text_part_from_json(value: object) -> TextPart:
    """Reads what `TextPart.to_json` wrote; the table comes apart."""
    keys = ("format", "version", "vocabulary", "lower_case", "table_frac_bits")
    parts = take_object(value, keys, "client.json", WrongFieldsError)
    pieces = take_list(parts["vocabulary"], "vocabulary", WrongFieldsError)
    lower_case, bits = parts["lower_case"], parts["table_frac_bits"]
    if not isinstance(lower_case, bool):
        raise WrongFieldsError("lower_case must be true or false")
    return TextPart(
        vocabulary=tuple(take_str(piece, "vocabulary", WrongFieldsError) for piece in pieces),
        lower_case=lower_case,
        table_frac_bits=None if bits is None else take_int(bits, "table_frac_bits", WrongFieldsError),
    )


def table_from_bytes(content: bytes, geometry: BertGeometry, where: str) -> Table:
    """The table of client.safetensors, of the geometry's shape."""
    try:
        tensors = load(content)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise TableInvalidError(f"{where} is truncated or no safetensors file") from error
    if list(tensors) != [TABLE_TENSOR]:
        raise TableInvalidError(f"{where} must hold the tensor {TABLE_TENSOR!r} and no other")
    _check_table(tensors[TABLE_TENSOR], geometry)
    table: Table = tensors[TABLE_TENSOR]
    return table


def check_text_part(client: TextPart, geometry: BertGeometry) -> None:
    """The vocabulary must fit the geometry, and the table be there exactly where it is public."""
    if len(client.vocabulary) > geometry.vocabulary:
        raise VocabularyInvalidError(
            f"the vocabulary lists {len(client.vocabulary)} pieces, but the model knows {geometry.vocabulary}"
        )
    public = geometry.has_public_table
    if (client.table_frac_bits is not None) != public:
        raise TableInvalidError(f"table_frac_bits must be {'an integer' if public else 'null'} here")
    if client.table is not None:
        _check_table(client.table, geometry)


def _check_table(table: NDArray[np.generic], geometry: BertGeometry) -> None:
    shape = (geometry.table_rows, geometry.width)
    if table.shape != shape or str(table.dtype) not in TABLE_DTYPES:
        raise TableInvalidError(
            f"the table is {table.dtype} of shape {table.shape}, but must be int8 or int16 of shape {shape}"
        )
