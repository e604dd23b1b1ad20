"""The degree variables of a model, in rank space, and how they become states.

Rank ranges are the unit: tokens are ranked by significance, [CLS] is a range of its own, and what a range
shares is one row of variables. As many ranges as tokens give one variable per entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from degreespar.models.relaxed import Ladder
from degreespar.numerics import OFF
from degreespar.training.errors import RecipeError


class Shape(Protocol):
    """The numbers of a model that the variables need; geometries have them."""

    @property
    def tokens(self) -> int:
        """How many tokens enter, [CLS] with them."""

    @property
    def ffn_widths(self) -> tuple[int, ...]:
        """The FFN's hidden dimension of every layer."""


@dataclass(frozen=True)
class Space:
    """The coordinates: sizes of the rank ranges without [CLS], most significant first, and the ladders."""

    sizes: tuple[int, ...]
    squarings: Ladder
    orders: Ladder
    transition_layer: float = 4.0

    def alpha(self, layer: int) -> float:
        """How much variance weighs in the score of a layer, numbered from 0; attention has the rest."""
        return 1.0 / (1.0 + math.exp(layer + 1 - self.transition_layer))

    def members(self, ranges: int) -> Tensor:
        """The range of every position while the first `ranges` are there; [CLS] is 0."""
        sizes = (1, *self.sizes[:ranges])
        return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


def even_sizes(tokens: int, ranges: int) -> tuple[int, ...]:
    """`tokens` split into `ranges` parts as equal as can be, larger parts first."""
    if not 1 <= ranges <= tokens:
        raise RecipeError(f"{tokens} tokens cannot be split into {ranges} rank ranges")
    return tuple(tokens // ranges + (part < tokens % ranges) for part in range(ranges))


class PolicyVariables(nn.Module):
    """S, G and m of every layer: real degrees per (query range, key range) and (range, dimension).

    The last layer has no retention: only [CLS] goes on from it.
    """

    def __init__(self, space: Space, shape: Shape, squarings: float, order: float) -> None:
        nn.Module.__init__(self)
        self.space = space
        rows = len(space.sizes) + 1
        widths = shape.ffn_widths
        self.squarings = _parameters(torch.full((rows, rows), float(squarings)) for _ in widths)
        self.orders = _parameters(torch.full((rows, width), float(order)) for width in widths)
        self.retention = _parameters(torch.ones(rows - 1) for _ in widths[1:])

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return len(self.orders)

    def kept_ranges(self) -> list[int]:
        """How many rank ranges leave each layer: those with m above 1/2, never more than entered."""
        kept, left = [], len(self.space.sizes)
        for retention in self.retention:
            left = min(left, max(1, int((retention.detach() > 0.5).sum())))
            kept.append(left)
        return [*kept, left]

    def project(self) -> None:
        """Back onto the ladders, m sorted; a range never loses its own keys: a softmax row needs one."""
        with torch.no_grad():
            for squarings in self.squarings:
                _clamp(squarings, self.space.squarings)
                least = next(state for state in self.space.squarings.states if state != OFF)
                squarings.diagonal().clamp_(min=float(least))
            for orders in self.orders:
                _clamp(orders, self.space.orders)
            for retention in self.retention:
                retention.copy_(retention.clamp(0.0, 1.0).sort(descending=True).values)


def families(variables: PolicyVariables) -> dict[str, Sequence[nn.Parameter]]:
    """The three kinds of variables by name."""
    return {
        "squarings": list(variables.squarings),
        "orders": list(variables.orders),
        "retention": list(variables.retention),
    }


def _parameters(values: Iterable[Tensor]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(value) for value in values)


def _clamp(degrees: Tensor, ladder: Ladder) -> None:
    degrees.clamp_(float(ladder.states[0]), float(ladder.states[-1]))
