"""From real degrees to an executable policy, and its smallest form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, LayerPolicy, ModelBounds, Selection
from degreespar.training.policies import uncalibrated
from degreespar.training.variables import PolicyVariables

Grid = npt.NDArray[np.int8]


def snapped(variables: PolicyVariables) -> DegreePolicy:
    """Every degree at its nearest state, K_l from the retentions: what straight-through training computes.

    Every layer but the last selects, into all its ranges; `merged` takes out what need not move. Of the
    last layer only the [CLS] row is ever computed: the others repeat it, so that costs are not flattered.
    """
    space = variables.space
    entering = len(space.sizes)
    layers = []
    for layer, leaving in enumerate(variables.kept_ranges()):
        last = layer + 1 == variables.layers
        before, after = space.members(entering).numpy(), space.members(leaving).numpy()
        queries, tokens = (0 * before, 0 * after) if last else (before, after)
        squarings = space.squarings.nearest(variables.squarings[layer].detach()).cpu().numpy()
        orders = space.orders.nearest(variables.orders[layer].detach()).cpu().numpy()
        layers.append(
            LayerPolicy(
                IntGrid(squarings[np.ix_(queries, before)].astype(np.int8)),
                IntGrid(orders[tokens].astype(np.int8)),
                LayerBounds(**uncalibrated(LayerBounds)),
                None if last else Selection(space.sizes[:leaving], space.alpha(layer)),
            )
        )
        entering = leaving
    return DegreePolicy(tuple(layers), ModelBounds(**uncalibrated(ModelBounds)))


def merged(policy: DegreePolicy) -> DegreePolicy:
    """The same function with fewer ranges: equal neighbours are one, and where none is left nobody moves.

    Two ranges are equal if this layer's GeLU rows and the next layer's softmax rows and columns are.
    Tokens inside a merged range keep the order they had; nothing before the next selection tells them
    apart, so the answer stays the same but for ties.
    """
    layers = list(policy.layers)
    for index, layer in enumerate(layers[:-1]):
        if layer.selection is not None:
            layers[index] = _merged_layer(layer, layers[index + 1])
    return replace(policy, layers=tuple(layers))


def _merged_layer(layer: LayerPolicy, following: LayerPolicy) -> LayerPolicy:
    assert layer.selection is not None
    orders, squarings = layer.gelu_orders.values, following.squarings.values
    sizes: list[int] = []
    start = 1
    for size in layer.selection.ranges:
        if sizes and _equal(orders, squarings, start - 1, start):
            sizes[-1] += size
        else:
            sizes.append(size)
        start += size
    if len(sizes) == 1 and layer.kept_tokens == layer.tokens:
        return replace(layer, selection=None)
    return replace(layer, selection=replace(layer.selection, ranges=tuple(sizes)))


def _equal(orders: Grid, squarings: Grid, one: int, other: int) -> bool:
    """Whether two positions are treated alike: the same state against anything, themselves too."""
    return (
        bool(np.array_equal(orders[one], orders[other]))
        and bool(np.array_equal(squarings[one], squarings[other]))
        and bool(np.array_equal(squarings[:, one], squarings[:, other]))
    )
