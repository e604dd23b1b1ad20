"""The deployed approximations of exp and GeLU on torch tensors, one degree or a grid of degrees.

The coefficients are those of `numerics`: training, the clear and the two-party engine read the same
objects. Everything here is computed in float32: a power of 2^n or a quartic has no meaning in bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from degreespar.numerics.exponential import EXPONENTIAL, OFF
from degreespar.numerics.gelu import GELU

GELU_REMOVED = 0
GELU_RELU = 1


def exponential(shifted: Tensor, squarings: int) -> Tensor:
    """(1 + z/2^n)^(2^n) for `cutoff` <= z <= 0, and 0 below the cut-off; `OFF` gives 0 everywhere."""
    if squarings == OFF:
        return torch.zeros_like(shifted)
    cutoff = EXPONENTIAL[squarings].cutoff
    # The clamp keeps the discarded branch finite, so that its zero gradient is not 0 * inf.
    power = 1.0 + shifted.clamp(min=cutoff) / 2.0**squarings
    for _ in range(squarings):
        power = power * power
    return torch.where(shifted >= cutoff, power, 0.0)


def gelu(x: Tensor, order: int) -> Tensor:
    """p(|x|) + x/2 for |x| <= `edge`, ReLU outside; order 0 gives 0 and order 1 is ReLU."""
    if order == GELU_REMOVED:
        return torch.zeros_like(x)
    if order == GELU_RELU:
        return torch.relu(x)
    polynomial = GELU[order]
    size = x.abs().clamp(max=polynomial.edge)
    value = torch.full_like(size, polynomial.coefficients[-1])
    for coefficient in reversed(polynomial.coefficients[:-1]):
        value = value * size + coefficient
    return torch.where(x.abs() <= polynomial.edge, value + 0.5 * x, torch.relu(x))


def by_state(
    function: Callable[[Tensor, int], Tensor], x: Tensor, grid: Tensor, states: tuple[int, ...]
) -> Tensor:
    """Apply to each entry of `x` the function at the state that `grid` (its last two axes) names."""
    if len(states) == 1:
        return function(x, states[0])
    result = torch.zeros_like(x)
    for state in states:
        result = torch.where(grid == state, function(x, state), result)
    return result


def softmax_by_squarings(scores: Tensor, grid: Tensor, states: tuple[int, ...]) -> Tensor:
    """Softmax over the last axis; the row maximum is taken over the entries that are not off.

    So the greatest entry in play contributes exactly 1 and a row's denominator is at least 1.
    """
    scores = scores.float()
    in_play = scores if OFF not in states else scores.masked_fill(grid == OFF, float("-inf"))
    # The result does not depend on the row maximum except through the approximation itself, but
    # the deployed program subtracts it too, so its gradient belongs to the function.
    shifted = scores - in_play.amax(dim=-1, keepdim=True)
    powers = by_state(exponential, shifted.clamp(max=0.0), grid, states)
    return powers / powers.sum(dim=-1, keepdim=True)


def gelu_by_order(x: Tensor, grid: Tensor, states: tuple[int, ...]) -> Tensor:
    """GeLU whose order is given per (token, FFN dimension)."""
    return by_state(gelu, x.float(), grid, states)
