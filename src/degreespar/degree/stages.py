"""What a policy removes, step by step: degrees, then tokens, then dimensions; and what each step saves.

Pure functions of policies and prices. The order decides: what comes later finds less left. With degrees
alone a dropped token has those of the last one kept, and a removed dimension is a ReLU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from degreespar.degree.grid import IntGrid
from degreespar.degree.policy import DegreePolicy, LayerPolicy
from degreespar.degree.prices import Geometry, Prices

STAGES = ("uncompressed", "degrees", "tokens", "dimensions")
"""Everything removed so far, up to and with the name."""
RELU = 1


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


def stages(
    policy: DegreePolicy, uncompressed: DegreePolicy, ffn_widths: Sequence[int]
) -> Mapping[str, DegreePolicy]:
    """The policies on the way from `uncompressed` to `policy`, by the names of `STAGES`.

    `ffn_widths` are the uncompressed model's.
    """
    pairs = list(zip(policy.layers, ffn_widths, strict=True))

    def at_full_size(tokens: int | None) -> DegreePolicy:
        return replace(
            policy, layers=tuple(_at_full_size(layer, tokens, ffn_width) for layer, ffn_width in pairs)
        )

    return {
        "uncompressed": uncompressed,
        "degrees": at_full_size(policy.layers[0].tokens),
        "tokens": at_full_size(None),
        "dimensions": without_unused(policy),
    }


def savings_in_order(
    policy: DegreePolicy,
    uncompressed: DegreePolicy,
    ffn_widths: Sequence[int],
    prices: Prices,
    geometry: Geometry,
) -> dict[str, float]:
    """Predicted seconds of the uncompressed model, what every step saves, and what is left."""
    steps = stages(policy, uncompressed, ffn_widths)
    return saved_in_order({name: prices.model_s(stage, geometry) for name, stage in steps.items()})


def saved_in_order(seconds: Mapping[str, float]) -> dict[str, float]:
    """The same from the seconds of every stage, predicted or measured."""
    saved = {f"{after}_s": seconds[before] - seconds[after] for before, after in pairwise(STAGES)}
    return {"uncompressed_s": seconds[STAGES[0]], **saved, "compressed_s": seconds[STAGES[-1]]}


def _at_full_size(layer: LayerPolicy, tokens: int | None, ffn_width: int) -> LayerPolicy:
    """The layer with its removed dimensions as ReLUs and, if `tokens` is given, no token dropped."""
    orders, squarings = layer.gelu_orders.values, layer.squarings.values
    removed = ~orders.any(axis=0)
    orders = np.where(removed, RELU, orders)
    orders = np.pad(orders, ((0, 0), (0, ffn_width - orders.shape[1])), constant_values=RELU)
    if tokens is None:
        return replace(layer, gelu_orders=IntGrid(orders))
    orders = np.pad(orders, ((0, tokens - len(orders)), (0, 0)), mode="edge")
    missing = tokens - len(squarings)
    squarings = np.pad(squarings, ((0, missing), (0, missing)), mode="edge")
    return replace(layer, squarings=IntGrid(squarings), gelu_orders=IntGrid(orders), selection=None)
