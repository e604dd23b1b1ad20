"""What a policy saves, and where: pure functions of policies and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from degreespar.degree import DegreePolicy, IntGrid, LayerPolicy
from degreespar.degree.prices import Geometry, Prices
from degreespar.models.nonlinear import GELU_RELU


def used_dimensions(layer: LayerPolicy) -> list[int]:
    """The FFN dimensions that some token evaluates; the first where none does, as a layer keeps one."""
    used = np.flatnonzero(layer.gelu_orders.values.any(axis=0)).tolist()
    return used or [0]


def without_unused(policy: DegreePolicy) -> DegreePolicy:
    """The policy with only the dimensions that are used."""
    layers = tuple(
        replace(layer, gelu_orders=IntGrid(layer.gelu_orders.values[:, used_dimensions(layer)]))
        for layer in policy.layers
    )
    return replace(policy, layers=layers)


def facts(policy: DegreePolicy) -> dict[str, list[float]]:
    """Per layer: tokens and dimensions that go on, and mean degrees (off counts as -1)."""
    return {
        "tokens": [layer.kept_tokens for layer in policy.layers],
        "dimensions": [len(used_dimensions(layer)) for layer in policy.layers],
        "mean_squarings": [float(layer.squarings.values.mean()) for layer in policy.layers],
        "mean_orders": [float(layer.gelu_orders.values.mean()) for layer in policy.layers],
    }


def savings_in_order(
    policy: DegreePolicy,
    uncompressed: DegreePolicy,
    ffn_widths: Sequence[int],
    prices: Prices,
    geometry: Geometry,
) -> dict[str, float]:
    """Seconds of the uncompressed model, then what degrees, tokens and dimensions each save, in this order.

    The order decides: what comes later finds less left. With degrees alone a dropped token has those of
    the last one kept, and a removed dimension is a ReLU.
    """
    tokens = policy.layers[0].tokens
    degrees = [
        _at_full_size(layer, tokens, width) for layer, width in zip(policy.layers, ffn_widths, strict=True)
    ]
    fewer = [
        _at_full_size(layer, None, width) for layer, width in zip(policy.layers, ffn_widths, strict=True)
    ]
    costs = [
        prices.model_s(uncompressed, geometry),
        sum(prices.layer_s(layer, geometry) for layer in degrees),
        sum(prices.layer_s(layer, geometry) for layer in fewer),
        prices.model_s(without_unused(policy), geometry),
    ]
    saved = [before - after for before, after in pairwise(costs)]
    return {
        "uncompressed_s": costs[0],
        "degrees_s": saved[0],
        "tokens_s": saved[1],
        "dimensions_s": saved[2],
        "compressed_s": costs[3],
    }


def _at_full_size(layer: LayerPolicy, tokens: int | None, ffn_width: int) -> LayerPolicy:
    """The layer with its removed dimensions as ReLUs and, if `tokens` is given, no token dropped."""
    orders, squarings = layer.gelu_orders.values, layer.squarings.values
    removed = ~orders.any(axis=0)
    orders = np.where(removed, GELU_RELU, orders)
    orders = np.pad(orders, ((0, 0), (0, ffn_width - orders.shape[1])), constant_values=GELU_RELU)
    if tokens is None:
        return replace(layer, gelu_orders=IntGrid(orders))
    orders = np.pad(orders, ((0, tokens - len(orders)), (0, 0)), mode="edge")
    missing = tokens - len(squarings)
    squarings = np.pad(squarings, ((0, missing), (0, missing)), mode="edge")
    return replace(layer, squarings=IntGrid(squarings), gelu_orders=IntGrid(orders), selection=None)
