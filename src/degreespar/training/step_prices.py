"""What one step down of each degree variable saves, as a share of the uncompressed model's cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from degreespar.degree import DegreePolicy
from degreespar.degree.prices import Geometry, Prices
from degreespar.models.relaxed import Ladder
from degreespar.training.variables import PolicyVariables


@dataclass(frozen=True)
class StepPrices:
    """Per layer, in the shapes of the variables: the share of the model's cost for one whole degree.

    `dimensions` is what a dimension's linear layers cost, `retention` what a whole range costs from its
    selection point on. Entries that are never computed cost nothing.
    """

    squarings: list[Tensor]
    orders: list[Tensor]
    dimensions: list[float]
    retention: list[Tensor]


def step_prices(
    variables: PolicyVariables, policy: DegreePolicy, prices: Prices, geometry: Geometry, whole_s: float
) -> StepPrices:
    """The prices where the variables are now; `policy` is them, snapped, and `whole_s` the cost of all."""
    squarings, orders, dimensions = [], [], []
    entering = len(variables.space.sizes)
    for layer, leaving in enumerate(variables.kept_ranges()):
        last = layer + 1 == variables.layers
        before, after = _counts(variables, entering), _counts(variables, leaving)
        queries, tokens = (_all_on_first(before), _all_on_first(after)) if last else (before, after)
        entries = geometry.heads * queries[:, None] * before[None, :]
        step = _step(variables.squarings[layer].detach(), variables.space.squarings, prices.softmax_step_s)
        squarings.append(entries * step / whole_s)
        step = _step(variables.orders[layer].detach(), variables.space.orders, prices.gelu_step_s)
        orders.append(tokens[:, None] * step / whole_s)
        kept = policy.layers[layer].kept_tokens
        with_one = prices.linear_s(kept, geometry.width, 1) - prices.linear_s(kept, geometry.width, 0)
        with_one += prices.linear_s(kept, 1, geometry.width) - prices.linear_s(kept, 0, geometry.width)
        dimensions.append(with_one / whole_s)
        entering = leaving
    tokens_s = [token_s / whole_s for token_s in token_prices_s(policy, prices, geometry)]
    sizes = torch.tensor(variables.space.sizes, dtype=torch.float32)
    return StepPrices(squarings, orders, dimensions, [token_s * sizes for token_s in tokens_s])


def token_prices_s(policy: DegreePolicy, prices: Prices, geometry: Geometry) -> list[float]:
    """Seconds that one token less would save, by the layer (all but the last) that drops it.

    Its share of that layer's FFN, and of every later layer as far as the token goes: what grows with the
    square of the tokens counts twice.
    """
    whole, halves = [], []
    for layer in policy.layers:
        parts = prices.layer_parts_s(layer, geometry)
        ffn = parts["gelu"] + prices.linear_s(layer.kept_tokens, geometry.width, layer.ffn_width)
        ffn += prices.linear_s(layer.kept_tokens, layer.ffn_width, geometry.width)
        attention = parts["linear"] + parts["gelu"] - ffn
        attention += 2 * (parts["attention"] + parts["softmax"])
        halves.append(ffn / layer.kept_tokens)
        whole.append(attention / layer.tokens)
    result = []
    for number in range(len(policy.layers) - 1):
        total, kept = halves[number], policy.layers[number].kept_tokens
        for later in range(number + 1, len(policy.layers)):
            total += whole[later]
            if policy.layers[later].kept_tokens < kept:
                break
            total += halves[later]
        result.append(total)
    return result


def _counts(variables: PolicyVariables, ranges: int) -> Tensor:
    """Tokens of each range, [CLS] first; none in the ranges that are gone."""
    sizes = variables.space.sizes
    there = [1, *sizes[:ranges], *[0] * (len(sizes) - ranges)]
    return torch.tensor(there, dtype=torch.float32)


def _all_on_first(counts: Tensor) -> Tensor:
    """The last layer: the policy repeats the [CLS] row, whose variables so stand for every row."""
    return torch.cat([counts.sum()[None], torch.zeros_like(counts[1:])])


def _step(degrees: Tensor, ladder: Ladder, price_s: Callable[[int], float]) -> Tensor:
    """Seconds for each degree of the interval that a variable stands in."""
    pairs = pairwise(ladder.states)
    slopes = torch.tensor([(price_s(high) - price_s(low)) / (high - low) for low, high in pairs])
    below, _ = ladder.bracket(degrees)
    return slopes.to(degrees.device)[below].cpu()
