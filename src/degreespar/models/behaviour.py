"""What a layer leaves open: how it weighs keys, which tokens go on and how it activates.

The seam between a model's text and its policy. `Exact` is the uncompressed model, `Hard` computes a
frozen policy exactly as deployed; training adds one that learns.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from degreespar.degree import IntGrid, LayerPolicy, Selection
from degreespar.models.functions import AS_WRITTEN, Functions
from degreespar.models.selection import routed, routing, significance


class Behaviour(Protocol):
    """One layer's softmax, selection and GeLU.

    `presence` [batch, tokens] is how far each token is there, 1 in value: gradients of a learned
    retention come back through it. Outside training it is None.
    """

    @property
    def selects(self) -> bool:
        """Whether tokens move or go; otherwise `select` is not called."""

    def weigh(self, scores: Tensor, presence: Tensor | None) -> Tensor:
        """Rows of attention weights from scores [batch, heads, queries, keys]; -inf is a masked key."""

    def select(
        self, x: Tensor, variance: Tensor, attention: Tensor, presence: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The tokens that go on, routed into rank ranges, with their presence; x [batch, tokens, width].

        `variance` and `attention` are [batch, tokens], as `models.selection.significance` takes them.
        """

    def activate(self, hidden: Tensor) -> Tensor:
        """GeLU of hidden [batch, tokens, dimensions]."""


class Exact:
    """The uncompressed layer."""

    selects = False

    def weigh(self, scores: Tensor, presence: Tensor | None) -> Tensor:
        return scores.softmax(dim=-1)

    def select(
        self, x: Tensor, variance: Tensor, attention: Tensor, presence: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        return x, presence

    def activate(self, hidden: Tensor) -> Tensor:
        return functional.gelu(hidden)


EXACT = Exact()


class Degrees:
    """One grid of a policy on a device, with the states that occur in it."""

    def __init__(self, grid: IntGrid, device: torch.device) -> None:
        self.states = tuple(sorted(int(state) for state in grid.groups()))
        self.grid = torch.from_numpy(grid.values.copy()).to(device)


class Hard:
    """A frozen policy, as deployed: hard segments, physical selection, no noise.

    Where a layer computes fewer queries than its policy has rows (the last one: [CLS] alone), the
    first rows hold.
    """

    def __init__(self, policy: LayerPolicy, device: torch.device, functions: Functions = AS_WRITTEN) -> None:
        self.functions = functions
        self.squarings = Degrees(policy.squarings, device)
        self.gelu_orders = Degrees(policy.gelu_orders, device)
        self.selection: Selection | None = policy.selection

    @property
    def selects(self) -> bool:
        return self.selection is not None

    def weigh(self, scores: Tensor, presence: Tensor | None) -> Tensor:
        grid = self.squarings.grid[: scores.shape[-2]]
        return self.functions.softmax(scores, grid, self.squarings.states)

    def select(
        self, x: Tensor, variance: Tensor, attention: Tensor, presence: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        if self.selection is None:
            return x, presence
        scores = significance(variance, attention, self.selection.alpha)
        return routed(x, routing(scores, self.selection.ranges)), presence

    def activate(self, hidden: Tensor) -> Tensor:
        grid = self.gelu_orders.grid[: hidden.shape[-2]]
        return self.functions.gelu(hidden, grid, self.gelu_orders.states)
