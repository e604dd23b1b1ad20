"""The behaviour of a layer whose degrees are being learned.

Values are those of the nearest states, as deployed; gradients are the relaxation's. A dropped token is
physically gone. One that stays carries its presence, 1 in value, from the selection point on: it scales
the token's FFN update and its weight as a key in later layers, so that retention feels what a token is
worth. Scores rank tokens without a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from degreespar.models.aware import Awareness
from degreespar.models.behaviour import Behaviour
from degreespar.models.functions import AS_WRITTEN, Functions
from degreespar.models.relaxed import Ladder
from degreespar.models.selection import routed, routing, significance
from degreespar.training.variables import PolicyVariables


@dataclass(frozen=True, eq=False)
class Learned:
    """One layer. Its softmax uses the ranks of the layer before, all else its own; layer 0: positions."""

    squarings: Tensor
    orders: Tensor
    retention: Tensor | None
    ladders: tuple[Ladder, Ladder]
    entering: Tensor
    leaving: Tensor
    ranges: tuple[int, ...]
    alpha: float
    awareness: Awareness
    functions: Functions

    @property
    def selects(self) -> bool:
        return self.retention is not None

    def weigh(self, scores: Tensor, presence: Tensor | None) -> Tensor:
        weights = self.ladders[0].weights(self.squarings, straight=True)
        rows = self.entering[: scores.shape[-2]]
        by_entry = {state: weight[rows][:, self.entering] for state, weight in weights.items()}
        draws = self.awareness.draws(scores)
        return self.functions.relaxed_softmax(scores, by_entry, presence, self.awareness, draws)

    def select(
        self, x: Tensor, variance: Tensor, attention: Tensor, presence: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        assert self.retention is not None
        with torch.no_grad():
            sources = routing(significance(variance, attention, self.alpha), self.ranges)
        there = 1.0 + self.retention - self.retention.detach()
        own = torch.cat([torch.ones_like(there[:1]), there])[self.leaving].expand(len(x), -1)
        carried = own if presence is None else own * routed(presence, sources)
        return routed(x, sources), carried

    def activate(self, hidden: Tensor) -> Tensor:
        weights = self.ladders[1].weights(self.orders, straight=True)
        rows = self.leaving[: hidden.shape[-2]]
        by_entry = {state: weight[rows] for state, weight in weights.items()}
        return self.functions.relaxed_gelu(hidden, by_entry, self.awareness, self.awareness.draws(hidden))


def learned_behaviours(
    variables: PolicyVariables, awareness: Awareness, functions: Functions = AS_WRITTEN
) -> list[Behaviour]:
    """One for each layer, with the rank ranges that are there now."""
    space, device = variables.space, variables.orders[0].device
    ladders = (space.squarings, space.orders)
    entering = len(space.sizes)
    behaviours: list[Behaviour] = []
    for layer, leaving in enumerate(variables.kept_ranges()):
        last = layer + 1 == variables.layers
        behaviours.append(
            Learned(
                squarings=variables.squarings[layer],
                orders=variables.orders[layer],
                retention=None if last else variables.retention[layer],
                ladders=ladders,
                entering=space.members(entering).to(device),
                leaving=space.members(leaving).to(device),
                ranges=space.sizes[:leaving],
                alpha=space.alpha(layer),
                awareness=awareness,
                functions=functions,
            )
        )
        entering = leaving
    return behaviours


@dataclass(frozen=True)
class Aware:
    """The same degrees everywhere, approximation-aware; no token moves."""

    squarings: int
    order: int
    awareness: Awareness
    functions: Functions = AS_WRITTEN

    selects = False

    def weigh(self, scores: Tensor, presence: Tensor | None) -> Tensor:
        weights = {self.squarings: scores.new_ones(())}
        draws = self.awareness.draws(scores)
        return self.functions.relaxed_softmax(scores, weights, presence, self.awareness, draws)

    def select(
        self, x: Tensor, variance: Tensor, attention: Tensor, presence: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        return x, presence

    def activate(self, hidden: Tensor) -> Tensor:
        weights, draws = {self.order: hidden.new_ones(())}, self.awareness.draws(hidden)
        return self.functions.relaxed_gelu(hidden, weights, self.awareness, draws)
