"""One step of the degree variables: the task's gradient against the price of each degree.

A degree costs lambda times its price and is worth the task's gradient on it. In units of its own price a
variable falls at its family's rate, less rate * worth / (lambda * price): what is worth more than it costs
rises. Falling is a proximal step, so that zeros are exact.

Worth is what the loss would gain by one degree less, to second order: -g + h / 2. The gradient g alone would
say that nothing in a trained model is worth anything, since weights could scale it as well; the curvature
h along the degree is taken from the gradients' squares (empirical Fisher: batch * mean of g^2).

Families (degrees of softmax and GeLU, dimensions, retention) have rates of their own; the exchange rate
lambda is one for all. A dimension that is low everywhere goes or stays as one group, its price that of its
linear layers with it.

A dropped range does not come back and takes a large piece of the cost at once, so retention must not
rush: only the least significant range of a layer falls, and one step drops one range at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from degreespar.training.regularise import (
    binary_surrogate,
    dimension_groups,
    group_shrinkage,
    soft_threshold,
    staged_slope,
)
from degreespar.training.step_prices import StepPrices
from degreespar.training.variables import PolicyVariables, families

LAMBDA_UNIT = 1000.0
"""Loss per whole model cost at lambda_grp = 1: the paper's 3e-4 is 0.3 nats for the model."""
MOST_PUSH = 3.0
"""No gradient moves a degree up faster than so many times the rate at which pressure moves it down."""
JUST_KEPT = 0.5 + 2.0**-10
"""A retention that would be gone, had not another been first."""


@dataclass(frozen=True)
class SparsifySettings:
    """How fast variables move (degrees per step at full pressure), and how hard they are pushed.

    None moves before `patience_steps` gradients have been seen. `most_fall` is the share of the cost that may
    fall between two checks.
    """

    squarings_rate: float = 0.02
    orders_rate: float = 0.02
    dimensions_rate: float = 0.02
    retention_rate: float = 0.01
    lambda_grp: float = 3e-4
    lambda_bin: float = 1e-2
    knee: float = 1.0
    group_below: float = 1.2
    shrink_weights: bool = True
    smoothing: float = 0.98
    patience_steps: int = 20
    target_ratio: float | None = None
    target_until: float = 0.8
    lambda_gain: float = 0.02
    most_fall: float = 1.0


@dataclass
class Pressure:
    """The exchange rate between loss and cost, and whether the cost is above its target now."""

    exchange: float
    on: bool = True

    def follow(self, cost_ratio: float, target: float | None, gain: float) -> None:
        """With a target: push while the cost is above it, harder the longer it stays; else rest."""
        if target is None:
            return
        self.on = cost_ratio > target
        gap = 10.0 * (cost_ratio / target - 1.0)
        self.exchange *= math.exp(gain * max(-1.0, min(1.0, gap)))


def falling_target(start: float, end: float | None, done: float, until: float) -> float | None:
    """The cost to hold at `done` (0..1) of the stage: from `start` down to `end` by equal factors."""
    if end is None:
        return None
    share = min(1.0, done / until)
    return math.exp((1 - share) * math.log(start) + share * math.log(end))


class Sparsifier:
    """Moves the variables of one model; smoothed gradients and squares of them are the only state."""

    def __init__(self, variables: PolicyVariables, settings: SparsifySettings) -> None:
        self.variables = variables
        self.settings = settings
        self.seen = 0
        self.means = {name: _zeros(parameters) for name, parameters in families(variables).items()}
        self.squares = {name: _zeros(parameters) for name, parameters in families(variables).items()}
        self.column_squares = [torch.zeros_like(orders[0]) for orders in variables.orders]

    def state(self) -> dict[str, object]:
        """What a checkpoint needs."""
        moments = {"means": self.means, "squares": self.squares, "column_squares": self.column_squares}
        return moments | {"seen": self.seen}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a state."""
        self.seen = state["seen"]
        self.means, self.squares = state["means"], state["squares"]
        self.column_squares = state["column_squares"]

    def step(self, prices: StepPrices, pressure: Pressure, contracts: list[nn.Linear], batch: int) -> None:
        """After a backward pass: gradients are taken in; under pressure variables move and are projected.

        Without pressure they rest: what is worth a little would rise again, and tokens could not.
        `batch` is how many examples the gradient is a mean of.
        """
        self._take_in()
        if not pressure.on or self.seen < self.settings.patience_steps:
            return
        with torch.no_grad():
            for layer, squarings in enumerate(self.variables.squarings):
                push = self._push("squarings", layer, prices.squarings[layer], pressure, batch)
                lowest = float(self.variables.space.squarings.states[0])
                self._move(squarings, lowest, push, self.settings.squarings_rate)
            for layer in range(self.variables.layers):
                self._move_orders(layer, prices, pressure, contracts[layer], batch)
            self._move_retention(prices, pressure, batch)
        self.variables.project()

    def _take_in(self) -> None:
        self.seen += 1
        for name, parameters in families(self.variables).items():
            for layer, parameter in enumerate(parameters):
                gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                self._smooth(self.means[name][layer], gradient)
                self._smooth(self.squares[name][layer], gradient**2)
                if name == "orders":
                    self._smooth(self.column_squares[layer], gradient.sum(dim=0) ** 2)
                parameter.grad = None

    def _smooth(self, mean: Tensor, value: Tensor) -> None:
        mean.mul_(self.settings.smoothing).add_(value, alpha=1 - self.settings.smoothing)

    def _worth(self, mean: Tensor, square: Tensor, batch: int) -> Tensor:
        """What one degree less would add to the loss; the moments' start at zero is corrected."""
        return (0.5 * batch * square - mean) / (1 - self.settings.smoothing**self.seen)

    def _push(self, name: str, layer: int, price: Tensor, pressure: Pressure, batch: int) -> Tensor:
        """Worth over cost of every entry; nan for those that cost nothing."""
        worth = self._worth(self.means[name][layer], self.squares[name][layer], batch)
        cost = pressure.exchange * price.to(worth.device)
        return torch.where(cost > 0, worth / cost.clamp(min=1e-12), torch.nan)

    def _move(self, degrees: Tensor, lowest: float, push: Tensor, rate: float) -> None:
        """Up by the push, down by the proximal step; entries that cost nothing stay."""
        heights = degrees - lowest
        speed = rate * staged_slope(heights, self.settings.knee)
        risen = (heights + speed * push.nan_to_num().clamp(-1.0, MOST_PUSH)).clamp(min=0.0)
        moved = soft_threshold(risen, speed) + lowest
        degrees.copy_(torch.where(push.isnan(), degrees, moved))

    def _move_orders(
        self, layer: int, prices: StepPrices, pressure: Pressure, contract: nn.Linear, batch: int
    ) -> None:
        """Entry by entry down to ReLU; a dimension that is low everywhere goes or stays as one group."""
        settings, orders = self.settings, self.variables.orders[layer]
        price = prices.orders[layer].to(orders.device)
        there = price.amax(dim=1) > 0
        low = orders[there].mean(dim=0) <= settings.group_below
        last = there[:, None] & low & (orders <= 1.0)
        push = self._push("orders", layer, price, pressure, batch)
        self._move(orders, 0.0, torch.where(last, torch.nan, push), settings.orders_rate)
        # What a whole column costs and is worth: its linear layers fall away with it.
        cost = pressure.exchange * (torch.where(last, price, 0.0).sum(dim=0) + prices.dimensions[layer])
        worth = self._worth(self.means["orders"][layer][there].sum(dim=0), self.column_squares[layer], batch)
        column = (worth / cost).clamp(-1.0, MOST_PUSH)
        amount = settings.dimensions_rate * (1 - column) * math.sqrt(max(1, int(there.sum())))
        groups = dimension_groups(torch.where(last, orders, 0.0))
        factor = torch.where(column < 1, group_shrinkage(groups, amount.clamp(min=0.0)), 1.0)
        risen = settings.dimensions_rate * (column - 1).clamp(min=0.0)
        orders.copy_(torch.where(last, (orders * factor + risen).clamp(max=1.0), orders))
        if settings.shrink_weights:
            contract.weight.mul_(torch.where(orders[there].mean(dim=0) < 1.0, factor, 1.0))

    def _move_retention(self, prices: StepPrices, pressure: Pressure, batch: int) -> None:
        """The last range of every layer; of those that fall below 1/2 now, the lowest one alone."""
        kept = self.variables.kept_ranges()
        crossing: dict[int, float] = {}
        for layer, retention in enumerate(self.variables.retention):
            last = kept[layer] - 1
            if last == 0:
                continue
            push = self._push("retention", layer, prices.retention[layer], pressure, batch)
            push = push - self._binary_gradient(retention) / (
                pressure.exchange * prices.retention[layer][last]
            )
            only = torch.full_like(push, torch.nan)
            only[last] = push[last]
            self._move(retention, 0.0, only, self.settings.retention_rate)
            if float(retention[last]) <= 0.5:
                crossing[layer] = float(retention[last])
        for layer in sorted(crossing, key=lambda number: crossing[number])[1:]:
            self.variables.retention[layer][kept[layer] - 1] = JUST_KEPT

    def _binary_gradient(self, retention: Tensor) -> Tensor:
        with torch.enable_grad():
            free = retention.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(binary_surrogate(free), free)
        return self.settings.lambda_bin * gradient


def _zeros(parameters: Sequence[Tensor]) -> list[Tensor]:
    return [torch.zeros_like(parameter.detach()) for parameter in parameters]
