"""The weights that a geometry has: names, shapes and integer types, in their fixed order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest

from degreespar.artifact.bert_geometry import PRIVATE_TABLE, BertGeometry
from degreespar.artifact.errors import FracBitsInvalidError, ManifestMismatchError, WrongFieldsError
from degreespar.artifact.geometry import VitGeometry
from degreespar.degree.strict_json import take_int, take_list, take_object, take_str

BIAS_FRAC_BITS = 12
MAX_WEIGHT_FRAC_BITS = 14
ITEM_BYTES = {"int16": 2, "int64": 8}


@dataclass(frozen=True)
class WeightEntry:
    """One tensor: a weight (int16) or a bias (int64), held as real * 2^frac_bits."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    frac_bits: int

    @property
    def size_bytes(self) -> int:
        """How many bytes the tensor has in the file."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]

    def to_json(self) -> dict[str, object]:
        """The entry as JSON."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "frac_bits": self.frac_bits,
        }

    @classmethod
    def from_json(cls, value: object, where: str) -> WeightEntry:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        parts = take_object(value, ("name", "shape", "dtype", "frac_bits"), where, WrongFieldsError)
        shape = take_list(parts["shape"], f"{where}.shape", WrongFieldsError)
        return cls(
            name=take_str(parts["name"], f"{where}.name", WrongFieldsError),
            shape=tuple(take_int(side, f"{where}.shape", WrongFieldsError) for side in shape),
            dtype=take_str(parts["dtype"], f"{where}.dtype", WrongFieldsError),
            frac_bits=take_int(parts["frac_bits"], f"{where}.frac_bits", WrongFieldsError),
        )


def expected_weights(geometry: VitGeometry | BertGeometry) -> tuple[WeightEntry, ...]:
    """Every tensor of the geometry, in order; weights carry the largest fraction bits allowed."""
    if isinstance(geometry, BertGeometry):
        return _bert_weights(geometry)
    entries = [
        _weight("patch.weight", geometry.patch_values, geometry.width),
        _bias("embedding.bias", geometry.tokens, geometry.width),
    ]
    for layer, ffn_width in enumerate(geometry.ffn_widths):
        entries += _layer_weights(f"layers.{layer}", geometry.width, ffn_width, stream=0)
    return (*entries, *_linear("head", geometry.width, geometry.classes))


def check_manifest(weights: tuple[WeightEntry, ...], geometry: VitGeometry | BertGeometry) -> None:
    """Refuses any list but the geometry's own; fraction bits are free within their range."""
    for entry, expected in zip_longest(weights, expected_weights(geometry)):
        if entry is None:
            raise ManifestMismatchError(f"the weights lack {expected.name}")
        if expected is None:
            raise ManifestMismatchError(f"the weights list {entry.name[:80]!r} beyond the geometry's")
        if entry.name != expected.name:
            raise ManifestMismatchError(f"the weights list {entry.name[:80]!r} where {expected.name} belongs")
        if (entry.shape, entry.dtype) != (expected.shape, expected.dtype):
            raise ManifestMismatchError(
                f"the weight {entry.name} must be {expected.dtype} of shape {expected.shape}"
            )
        _check_frac_bits(entry)


def _check_frac_bits(entry: WeightEntry) -> None:
    if type(entry.frac_bits) is not int:
        raise FracBitsInvalidError(f"the fraction bits of {entry.name} must be an integer")
    if entry.dtype == "int64" and entry.frac_bits != BIAS_FRAC_BITS:
        raise FracBitsInvalidError(
            f"{entry.name} must have {BIAS_FRAC_BITS} fraction bits, not {entry.frac_bits}"
        )
    if not 0 <= entry.frac_bits <= MAX_WEIGHT_FRAC_BITS:
        raise FracBitsInvalidError(
            f"{entry.name} must have 0..{MAX_WEIGHT_FRAC_BITS} fraction bits, not {entry.frac_bits}"
        )


def _bert_weights(geometry: BertGeometry) -> tuple[WeightEntry, ...]:
    width = geometry.width
    private = geometry.embedding == PRIVATE_TABLE
    entries = [_weight("table.weight", geometry.table_rows, width)] if private else []
    entries.append(_bias("embedding.bias", geometry.positions, width))
    for layer, ffn_width in enumerate(geometry.ffn_widths):
        entries += _layer_weights(f"layers.{layer}", width, ffn_width, stream=width)
    return (*entries, *_linear("pooler", width, width), *_linear("head", width, geometry.classes))


def _layer_weights(prefix: str, width: int, ffn_width: int, stream: int) -> tuple[WeightEntry, ...]:
    """`stream` columns more where a norm's scale goes to the residual stream as well (post-norm)."""
    return (
        *_linear(f"{prefix}.query_key_value", width, 3 * width + stream),
        *_linear(f"{prefix}.projection", width, width),
        *_linear(f"{prefix}.expand", width, ffn_width + stream),
        *_linear(f"{prefix}.contract", ffn_width, width),
    )


def _linear(name: str, rows: int, cols: int) -> tuple[WeightEntry, WeightEntry]:
    return _weight(f"{name}.weight", rows, cols), _bias(f"{name}.bias", cols)


def _weight(name: str, rows: int, cols: int) -> WeightEntry:
    return WeightEntry(name, (rows, cols), "int16", MAX_WEIGHT_FRAC_BITS)


def _bias(name: str, *shape: int) -> WeightEntry:
    return WeightEntry(name, shape, "int64", BIAS_FRAC_BITS)
