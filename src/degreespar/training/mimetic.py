"""A start for small data: attention that already looks at its neighbours.

Trained ViTs have query-key products close to a positive multiple of the identity and value-projection
products close to a negative one (Trockman and Kolter, ICML 2023). Beginning there, with positions that are
alike where patches are near, spares the epochs in which a ViT learns what a convolution knows.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from degreespar.models.vit import Attention, Vit

LOOK_NOISE, LOOK_SELF = 0.7, 0.7
"""Of query times key: how much of it is random, and how much the identity."""
MOVE_NOISE, MOVE_SELF = 0.4, -0.4
"""The same of value times projection."""
LONGEST_WAVE = 10_000.0


def begin_mimetic(model: Vit) -> None:
    """Set attention and positions of `model`; everything else keeps its start."""
    with torch.no_grad():
        model.positions[1:] = wave_positions(math.isqrt(model.geometry.patches), model.geometry.width)
        model.positions[0] = 0.0
        for layer in model.blocks():
            _begin_attention(layer.attention)


def wave_positions(across: int, width: int) -> Tensor:
    """[across^2, width]: sines and cosines of row and column, a quarter of the width for each."""
    if width % 4:
        raise ValueError(f"a width of {width} has no four quarters")
    frequencies = torch.exp(torch.arange(width // 4) * (-math.log(LONGEST_WAVE) / (width // 4)))
    angles = torch.arange(across)[:, None] * frequencies
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)
    rows = waves[:, None].expand(-1, across, -1)
    columns = waves[None].expand(across, -1, -1)
    return torch.cat([rows, columns], dim=-1).reshape(across * across, width)


def _begin_attention(attention: Attention) -> None:
    width, heads = attention.projection.weight.shape[0], attention.heads
    share = width // heads
    query, key, value = attention.query_key_value.weight.view(3, width, width)
    for head in range(heads):
        left, size, right = torch.linalg.svd(_near_identity(width, LOOK_NOISE, LOOK_SELF))
        root = size[:share].sqrt()
        rows = slice(head * share, (head + 1) * share)
        query[rows] = root[:, None] * left[:, :share].T
        key[rows] = root[:, None] * right[:share]
    left, size, right = torch.linalg.svd(_near_identity(width, MOVE_NOISE, MOVE_SELF))
    value.copy_(size.sqrt()[:, None] * left.T)
    attention.projection.weight.copy_((size.sqrt()[:, None] * right).T)


def _near_identity(width: int, noise: float, share: float) -> Tensor:
    return noise * torch.randn(width, width) / math.sqrt(width) + share * torch.eye(width)
