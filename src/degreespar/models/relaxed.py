"""Real degrees: between two neighbouring states a function is a blend of both.

A degree v with a < v <= b, a and b neighbours of the ladder, means (1 - t) f_a + t f_b with
t = (v - a) / (b - a); so the gradient to v is (f_b - f_a) / (b - a), and a GeLU that falls from 1 to 0
scales its unit away. *Straight through*, the value is the one of the nearest state, as deployed, and only
the gradient is the blend's: what is trained is what runs, and a soft degree cannot be made up for by
growing weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from degreespar.models.aware import EXACT_TRAINING, Awareness, aware_gelu, perturbed
from degreespar.models.errors import ModelError
from degreespar.models.nonlinear import GELU_REMOVED, exponential
from degreespar.numerics.exponential import OFF


@dataclass(frozen=True)
class Ladder:
    """The states that a degree may take, ascending."""

    states: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.states) < 2 or list(self.states) != sorted(set(self.states)):
            raise ModelError(f"a ladder needs two or more ascending states, not {self.states}")

    def bracket(self, degrees: Tensor) -> tuple[Tensor, Tensor]:
        """For each degree the number of the state below it, and how far it is to the next (0..1)."""
        rungs = torch.tensor(self.states, dtype=degrees.dtype, device=degrees.device)
        below = torch.searchsorted(rungs, degrees.detach().contiguous(), right=False) - 1
        below = below.clamp(0, len(self.states) - 2)
        return below, (degrees - rungs[below]) / (rungs[below + 1] - rungs[below])

    def weights(self, degrees: Tensor, straight: bool) -> dict[int, Tensor]:
        """How much of each state a degree is; `straight` gives the nearest state alone, in value."""
        below, share = self.bracket(degrees)
        upper = (share > 0.5).to(share.dtype) + share - share.detach() if straight else share
        return {
            state: torch.where(below == number, 1 - upper, 0.0) + torch.where(below + 1 == number, upper, 0.0)
            for number, state in enumerate(self.states)
        }

    def nearest(self, degrees: Tensor) -> Tensor:
        """The states that straight-through weights stand for, as integers."""
        below, share = self.bracket(degrees)
        states = torch.tensor(self.states, device=degrees.device)
        return states[below + (share > 0.5)]


def relaxed_softmax(
    scores: Tensor,
    weights: dict[int, Tensor],
    presence: Tensor | None = None,
    awareness: Awareness = EXACT_TRAINING,
    draws: Tensor | None = None,
) -> Tensor:
    """Softmax over the last axis of scores [batch, heads, queries, keys]; blends before normalising.

    `weights` [queries, keys] for each state; `presence` [batch, keys] weighs whole keys: at 0 a token is
    exactly absent, from the row maximum too.
    """
    scores = scores.float()
    in_play = torch.ones_like(scores[:1, :1], dtype=torch.bool)
    if OFF in weights:
        in_play = in_play & (weights[OFF] < 1)
    if presence is not None:
        in_play = in_play & (presence > 0)[:, None, None, :]
    largest = scores.masked_fill(~in_play, float("-inf")).amax(dim=-1, keepdim=True)
    shifted = (scores - largest).clamp(max=0.0)
    powers = torch.zeros_like(shifted)
    for state, weight in weights.items():
        if state != OFF:
            powers = powers + weight * exponential(perturbed(shifted, state, draws, awareness), state)
    if presence is not None:
        powers = powers * presence[:, None, None, :]
    return powers / powers.sum(dim=-1, keepdim=True)


def relaxed_gelu(
    x: Tensor,
    weights: dict[int, Tensor],
    awareness: Awareness = EXACT_TRAINING,
    draws: Tensor | None = None,
) -> Tensor:
    """GeLU of x [batch, tokens, dimensions]; `weights` [tokens, dimensions] for each state."""
    x = x.float()
    result = torch.zeros_like(x)
    for state, weight in weights.items():
        if state != GELU_REMOVED:
            result = result + weight * aware_gelu(x, state, draws, awareness)
    return result
