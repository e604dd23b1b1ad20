"""One step of the degree variables: the task's gradient against the price of each degree.

A degree costs lambda times its price and is worth the task's gradient on it. In units of its own price a
variable falls at its family's rate, less rate * worth / (lambda * price): what is worth more than it costs
rises. Falling is a proximal step, so that zeros are exact. Families (degrees of softmax and GeLU,
dimensions, retention) have rates of their own; the exchange rate lambda is one for all.

A dropped range does not come back and takes a large piece of the cost at once, so retention must not
rush: only the least significant range of a layer falls, and one step drops one range at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    """How fast variables move (degrees per step at full pressure), and how hard they are pushed."""

    squarings_rate: float = 0.02
    orders_rate: float = 0.02
    dimensions_rate: float = 0.02
    retention_rate: float = 0.01
    lambda_grp: float = 3e-4
    lambda_bin: float = 1e-2
    knee: float = 1.0
    group_below: float = 1.2
    shrink_weights: bool = True
    smoothing: float = 0.9
    target_ratio: float | None = None
    target_until: float = 0.8
    lambda_gain: float = 0.02


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
    """Moves the variables of one model; its smoothed gradients are the only state."""

    def __init__(self, variables: PolicyVariables, settings: SparsifySettings) -> None:
        self.variables = variables
        self.settings = settings
        self.smoothed = {
            name: [torch.zeros_like(parameter) for parameter in parameters]
            for name, parameters in families(variables).items()
        }

    def state(self) -> dict[str, list[Tensor]]:
        """What a checkpoint needs."""
        return self.smoothed

    def restore(self, state: dict[str, list[Tensor]]) -> None:
        """Take up a state."""
        for name, tensors in self.smoothed.items():
            for own, saved in zip(tensors, state[name], strict=True):
                own.copy_(saved)

    def step(self, prices: StepPrices, pressure: Pressure, contracts: list[nn.Linear]) -> None:
        """After a backward pass: gradients are taken in; under pressure variables move and are projected.

        Without pressure they rest: what is worth a little would rise again, and tokens could not.
        """
        self._smooth()
        if not pressure.on:
            return
        settings = self.settings
        with torch.no_grad():
            for layer, squarings in enumerate(self.variables.squarings):
                worth = self.smoothed["squarings"][layer]
                price = prices.squarings[layer].to(squarings.device)
                lowest = float(self.variables.space.squarings.states[0])
                self._move(squarings, lowest, worth, price, settings.squarings_rate, pressure)
            for layer in range(self.variables.layers):
                self._move_orders(layer, prices, pressure, contracts[layer])
            self._move_retention(prices, pressure)
        self.variables.project()

    def _move_retention(self, prices: StepPrices, pressure: Pressure) -> None:
        """The last range of every layer; of those that fall below 1/2 now, the lowest one alone."""
        kept = self.variables.kept_ranges()
        crossing: dict[int, float] = {}
        for layer, retention in enumerate(self.variables.retention):
            last = kept[layer] - 1
            if last == 0:
                continue
            price = torch.zeros_like(retention)
            price[last] = float(prices.retention[layer][last])
            worth = self.smoothed["retention"][layer]
            self._move(retention, 0.0, worth, price, self.settings.retention_rate, pressure)
            if float(retention[last]) <= 0.5:
                crossing[layer] = float(retention[last])
        for layer in sorted(crossing, key=lambda number: crossing[number])[1:]:
            self.variables.retention[layer][kept[layer] - 1] = JUST_KEPT

    def _smooth(self) -> None:
        beta = self.settings.smoothing
        for name, parameters in families(self.variables).items():
            for mean, parameter in zip(self.smoothed[name], parameters, strict=True):
                gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                if name == "retention":
                    gradient = gradient + self._binary_gradient(parameter)
                mean.mul_(beta).add_(gradient, alpha=1 - beta)
                parameter.grad = None

    def _binary_gradient(self, retention: Tensor) -> Tensor:
        with torch.enable_grad():
            free = retention.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(binary_surrogate(free), free)
        return self.settings.lambda_bin * gradient

    def _move(
        self, degrees: Tensor, lowest: float, worth: Tensor, price: Tensor, rate: float, pressure: Pressure
    ) -> None:
        """Entries that cost something: the task's gradient, then the proximal step."""
        costs = price > 0
        push = worth / (pressure.exchange * price.clamp(min=1e-12))
        heights = degrees - lowest
        speed = rate * staged_slope(heights, self.settings.knee)
        heights = (heights - speed * push.clamp(-MOST_PUSH, 1.0)).clamp(min=0.0)
        heights = soft_threshold(heights, speed)
        degrees.copy_(torch.where(costs, heights + lowest, degrees))

    def _move_orders(self, layer: int, prices: StepPrices, pressure: Pressure, contract: nn.Linear) -> None:
        settings, orders = self.settings, self.variables.orders[layer]
        price = prices.orders[layer].to(orders.device)
        there = price.amax(dim=1) > 0
        low = orders[there].mean(dim=0) < settings.group_below
        # The last step of a dimension that is low saves its share of the linear layers as well.
        share = prices.dimensions[layer] / max(1, int(there.sum()))
        worth = self.smoothed["orders"][layer]
        price = torch.where((price > 0) & low & (orders <= 1.0), price + share, price)
        self._move(orders, 0.0, worth, price, settings.orders_rate, pressure)
        net = (worth[there] / (pressure.exchange * price[there].clamp(min=1e-12))).mean(dim=0)
        falling = low & (net > -1.0)
        groups = dimension_groups(orders[there])
        factor = torch.where(falling, group_shrinkage(groups, settings.dimensions_rate), 1.0)
        orders[there] = orders[there] * factor
        if settings.shrink_weights:
            contract.weight.mul_(torch.where(orders[there].mean(dim=0) < 1.0, factor, 1.0))
