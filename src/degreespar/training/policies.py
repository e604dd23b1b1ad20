"""Policies before anything was learned or calibrated: one degree everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from degreespar.artifact import BertGeometry, Geometry
from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, LayerPolicy, ModelBounds, TextBounds

# Never exported: `export` replaces them by what calibration saw.
UNCALIBRATED_BOUND = 2.0**15
UNCALIBRATED_VARIANCE = (2.0**-15, 2.0**15)


def uncalibrated(kind: type[Any]) -> Mapping[str, Any]:
    """Values for every field of LayerBounds or ModelBounds that allow anything."""
    return MappingProxyType(
        {
            field.name: UNCALIBRATED_VARIANCE if field.name.endswith("_variance") else UNCALIBRATED_BOUND
            for field in fields(kind)
        }
    )


def uniform_policy(geometry: Geometry, squarings: int, gelu_order: int) -> DegreePolicy:
    """The same squarings and the same GeLU order for every entry of every layer, not yet calibrated."""
    tokens = geometry.tokens
    bounds = LayerBounds(**uncalibrated(LayerBounds))
    layers = tuple(
        LayerPolicy(
            IntGrid.uniform(tokens, tokens, squarings),
            IntGrid.uniform(tokens, ffn_width, gelu_order),
            bounds,
        )
        for ffn_width in geometry.ffn_widths
    )
    kind = TextBounds if isinstance(geometry, BertGeometry) else ModelBounds
    return DegreePolicy(layers, kind(**uncalibrated(kind)))
