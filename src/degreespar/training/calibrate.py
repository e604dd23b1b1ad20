"""Public bounds of activations from what calibration inputs show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from degreespar.degree import DegreePolicy, LayerBounds, ModelBounds, TextBounds
from degreespar.models.bert import Bert
from degreespar.models.vit import Vit, patch_vectors
from degreespar.training.errors import CalibrationError

SAFETY = 2.0
VARIANCE, NORMED = "_variance", "_normed"


@dataclass(frozen=True)
class Extremes:
    """The smallest and the largest |value| seen at one point."""

    low: float
    high: float

    @staticmethod
    def of(value: Tensor) -> Extremes:
        """The extremes of one tensor."""
        size = value.detach().abs()
        return Extremes(float(size.min()), float(size.max()))

    def joined(self, other: Extremes | None) -> Extremes:
        """Both together."""
        if other is None:
            return self
        return Extremes(min(self.low, other.low), max(self.high, other.high))


Seen = dict[str, Extremes]


def calibrated(
    model: Vit | Bert, policy: DegreePolicy, batches: Iterable[Tensor], offsets: dict[str, float]
) -> DegreePolicy:
    """`policy` with the bounds that the inputs in `batches` call for under it.

    `offsets` names the largest |bias| added at a point: the engine holds the value before its bias too.
    """
    seen = observe(model, policy, batches)
    # A normed value is at most sqrt(width - 1), whatever the picture.
    normed = _power_above(math.sqrt(model.geometry.width))
    layers = tuple(
        replace(layer, bounds=LayerBounds(**_bounds(LayerBounds, seen, offsets, f"layers.{index}.", normed)))
        for index, layer in enumerate(policy.layers)
    )
    kind = TextBounds if isinstance(model, Bert) else ModelBounds
    return DegreePolicy(layers, kind(**_bounds(kind, seen, offsets, "", normed)))


def observe(model: Vit | Bert, policy: DegreePolicy, batches: Iterable[Tensor]) -> Seen:
    """The extremes at every point, computed as `policy` says; the model is left in exact mode."""
    seen: Seen = {}

    def note(name: str, value: Tensor) -> None:
        seen[name] = Extremes.of(value).joined(seen.get(name))

    model.eval()
    model.use(policy)
    with torch.no_grad():
        for inputs in batches:
            model(inputs, note)
            # Before its bias and positions a picture's embedding is the first layer's input too.
            if isinstance(model, Vit):
                note("layers.0.input", patch_vectors(inputs, model.geometry.patch_px) @ model.patch.weight.T)
        if isinstance(model, Bert):
            # Any word may come, whatever the calibration texts say.
            tables = (model.words.weight, model.segments.weight, model.positions)
            note("embedding", torch.stack([table.abs().max() for table in tables]).sum())
    model.use(None)
    if "logits" not in seen:
        raise CalibrationError("there is nothing to calibrate on")
    return seen


def bound_for(seen: Extremes, offset: float, name: str) -> float:
    """The power of two from twice the largest value seen, and from that value without its bias."""
    largest = max(SAFETY * seen.high, seen.high + offset)
    if not math.isfinite(largest):
        raise CalibrationError(f"calibration saw a value that is not finite at {name}")
    # A point that is always zero still needs a bound.
    return _power_above(max(largest, 2.0**-12))


def range_for(seen: Extremes, name: str) -> tuple[float, float]:
    """Powers of two around half of the smallest and twice the largest variance seen."""
    if not (math.isfinite(seen.high) and seen.low > 0.0):
        raise CalibrationError(f"calibration saw a variance that no reciprocal root can serve at {name}")
    return 1.0 / _power_above(SAFETY / seen.low), _power_above(SAFETY * seen.high)


def _bounds(
    kind: type[LayerBounds] | type[ModelBounds] | type[TextBounds],
    seen: Seen,
    offsets: dict[str, float],
    prefix: str,
    normed: float,
) -> dict[str, Any]:
    # Any: a float for most fields and a pair for the variances, which ** cannot tell apart.
    bounds: dict[str, Any] = {}
    for field in fields(kind):
        name = prefix + field.name
        if name.endswith(VARIANCE):
            bounds[field.name] = range_for(seen[name], name)
            continue
        bound = bound_for(seen[name], offsets.get(name, 0.0), name)
        bounds[field.name] = min(bound, normed) if name.endswith(NORMED) else bound
    return bounds


def _power_above(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
