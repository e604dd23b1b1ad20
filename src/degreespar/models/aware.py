"""Approximation-aware training: noise where an approximation errs, soft edges where its segments meet.

Softmax: shifted logits inside the noise region of n get U(-eta, eta) before the squarings. GeLU: the
segments are blended by sigmoid(k (x - B)) and sigmoid(k (-x - B)), and values inside the noise region get
U(-eta, eta). Regions and eta of every degree come from `numerics`. Deployment has none of this.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from degreespar.models.nonlinear import GELU_RELU, gelu
from degreespar.numerics.exponential import EXPONENTIAL
from degreespar.numerics.gelu import GELU

SHARPNESS = 10.0
"""k of the soft edges."""


@dataclass(frozen=True)
class Awareness:
    """What training adds: the noise as a multiple of each degree's own, and whether edges are soft."""

    noise: float = 1.0
    soft_edges: bool = True

    def draws(self, like: Tensor) -> Tensor | None:
        """U(-1, 1) of the same shape, in float32; None where there is no noise."""
        if self.noise == 0.0:
            return None
        return torch.empty_like(like, dtype=torch.float32).uniform_(-1.0, 1.0)


EXACT_TRAINING = Awareness(0.0, False)
"""The deployed functions themselves."""


def perturbed(shifted: Tensor, squarings: int, draws: Tensor | None, awareness: Awareness) -> Tensor:
    """Shifted logits with noise where `squarings` err most."""
    if draws is None:
        return shifted
    state = EXPONENTIAL[squarings]
    inside = (shifted >= state.noise_low) & (shifted <= state.noise_high)
    noisy = shifted + awareness.noise * state.noise_scale * draws
    return torch.where(inside, noisy, shifted)


def aware_gelu(x: Tensor, order: int, draws: Tensor | None, awareness: Awareness) -> Tensor:
    """GeLU of `order` as it is trained."""
    state = GELU[order]
    value = soft_gelu(x, order) if awareness.soft_edges and order > GELU_RELU else gelu(x, order)
    if draws is None:
        return value
    inside = (x.abs() >= state.noise_low) & (x.abs() <= state.noise_high)
    return torch.where(inside, value + awareness.noise * state.noise_scale * draws, value)


def soft_gelu(x: Tensor, order: int) -> Tensor:
    """w+ x + max(0, 1 - w+ - w-) m(x): the segments of an order with edges, blended."""
    state = GELU[order]
    right = torch.sigmoid(SHARPNESS * (x - state.edge))
    left = torch.sigmoid(SHARPNESS * (-x - state.edge))
    # Where the polynomial's weight is nothing its value may be anything: it is held there, not squared.
    size = x.abs().clamp(max=state.edge + 4.0)
    middle = torch.full_like(size, state.coefficients[-1])
    for coefficient in reversed(state.coefficients[:-1]):
        middle = middle * size + coefficient
    return right * x + (1 - right - left).clamp(min=0.0) * (middle + 0.5 * x)
