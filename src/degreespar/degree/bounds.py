"""Public bounds of activations: ring widths and the ranges of reciprocals follow from them.

A bound is a power of two that |value|, in real units, stays below: calibration leaves a margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from degreespar.degree.errors import PolicyError, placed
from degreespar.degree.strict_json import take_float, take_list, take_object

Range = tuple[float, float]

SMALLEST_BOUND, LARGEST_BOUND = 2.0**-30, 2.0**30
# A reciprocal's range is cut into segments of equal ratio: a wider one would need too many.
LARGEST_RATIO = 2.0**40


@dataclass(frozen=True)
class LayerBounds:
    """Bounds inside one layer: |value| at each point, (low, high) of each variance + eps.

    `score_variance` is of the mean, over the tokens other than [CLS], of what a selection scores by.
    """

    input: float
    query: float
    key: float
    value: float
    scores: float
    context: float
    middle: float
    hidden: float
    activated: float
    output: float
    attention_normed: float
    ffn_normed: float
    attention_variance: Range
    ffn_variance: Range
    score_variance: Range

    def __post_init__(self) -> None:
        _check_fields(_values(self))

    def to_json(self) -> dict[str, object]:
        """The bounds as JSON."""
        return _to_json(_values(self))

    @classmethod
    def from_json(cls, value: object, where: str) -> LayerBounds:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        parts = _read(value, _names(cls), LAYER_RANGES, where)
        with placed(where):
            return cls(**parts)


@dataclass(frozen=True)
class ModelBounds:
    """Bounds after the last layer."""

    final_normed: float
    logits: float
    final_variance: Range

    def __post_init__(self) -> None:
        _check_fields(_values(self))

    def to_json(self) -> dict[str, object]:
        """The bounds as JSON."""
        return _to_json(_values(self))

    @classmethod
    def from_json(cls, value: object, where: str) -> ModelBounds:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        parts = _read(value, _names(cls), MODEL_RANGES, where)
        with placed(where):
            return cls(**parts)


@dataclass(frozen=True)
class TextBounds:
    """Bounds before the first and after the last layer of a model of texts."""

    embedding: float
    embedding_normed: float
    pooled: float
    logits: float
    embedding_variance: Range

    def __post_init__(self) -> None:
        _check_fields(_values(self))

    def to_json(self) -> dict[str, object]:
        """The bounds as JSON."""
        return _to_json(_values(self))

    @classmethod
    def from_json(cls, value: object, where: str) -> TextBounds:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        parts = _read(value, _names(cls), TEXT_RANGES, where)
        with placed(where):
            return cls(**parts)


def model_bounds_from_json(value: object, where: str) -> ModelBounds | TextBounds:
    """Whichever of the two `value` is: only texts have something that is pooled."""
    kind = TextBounds if isinstance(value, dict) and "pooled" in value else ModelBounds
    return kind.from_json(value, where)


LAYER_RANGES = ("attention_variance", "ffn_variance", "score_variance")
MODEL_RANGES = ("final_variance",)
TEXT_RANGES = ("embedding_variance",)

Bounds = LayerBounds | ModelBounds | TextBounds
Values = dict[str, float | Range]


def _names(bounds: type[Bounds]) -> list[str]:
    return [field.name for field in fields(bounds)]


def _values(bounds: Bounds) -> Values:
    return {field.name: getattr(bounds, field.name) for field in fields(bounds)}


def _check_fields(values: Values) -> None:
    for name, value in values.items():
        if isinstance(value, tuple):
            _check_range(value, name)
        else:
            _check_bound(value, name)


def _check_bound(value: float, name: str) -> None:
    power = isinstance(value, float) and math.isfinite(value) and math.frexp(value)[0] == 0.5
    if not (power and SMALLEST_BOUND <= value <= LARGEST_BOUND):
        raise PolicyError(f"{name} must be a power of two in 2^-30..2^30, not {value!r}")


def _check_range(value: Range, name: str) -> None:
    numbers = len(value) == 2 and all(isinstance(end, float) for end in value)
    if not (numbers and SMALLEST_BOUND <= value[0] < value[1] <= LARGEST_BOUND):
        raise PolicyError(f"{name} must be a pair low < high in 2^-30..2^30, not {value!r}")
    if value[1] / value[0] > LARGEST_RATIO:
        raise PolicyError(f"{name} must span a ratio of at most 2^40, not {value!r}")


def _to_json(values: Values) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


# Any: a float for most names and a pair for the ranges, which keyword arguments cannot tell apart.
def _read(value: object, names: list[str], range_names: tuple[str, ...], where: str) -> dict[str, Any]:
    parts = take_object(value, names, where, PolicyError)
    return {
        name: _read_range(parts[name], f"{where}.{name}")
        if name in range_names
        else take_float(parts[name], f"{where}.{name}", PolicyError)
        for name in names
    }


def _read_range(value: object, where: str) -> Range:
    ends = take_list(value, where, PolicyError)
    if len(ends) != 2:
        raise PolicyError(f"{where} must be a pair of numbers")
    return take_float(ends[0], where, PolicyError), take_float(ends[1], where, PolicyError)
