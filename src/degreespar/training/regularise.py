"""What pulls degrees down: pure functions of tensors, each with its proximal step where it has one.

Heights are degrees above the lowest state of their ladder, so that 0 always means: nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def staged_norm(heights: Tensor, knee: float, weights: Tensor) -> Tensor:
    """Entry-wise staged L1/L2: quadratic while a height is above `knee`, |height| below it.

    High degrees fall in proportion to their height, low ones at a constant rate, to an exact zero.
    """
    size = heights.abs()
    return (weights * torch.where(size <= knee, size, (size**2 + knee**2) / (2 * knee))).sum()


def staged_slope(heights: Tensor, knee: float) -> Tensor:
    """The derivative of `staged_norm` to each height above zero, per weight."""
    return (heights / knee).clamp(min=1.0)


def group_norm(groups: Sequence[Tensor], weights: Tensor | None = None) -> Tensor:
    """Mixed L1/L2: the sum over groups of the L2 norm of a group's members; groups [count, members]."""
    norms = torch.cat([group.norm(dim=1) for group in groups])
    return norms.sum() if weights is None else (weights * norms).sum()


def token_groups(squarings: Tensor, orders: Tensor, retention: Tensor) -> Tensor:
    """One row for each rank range but [CLS]'s: its softmax row and column, its GeLU row, its retention.

    Heights: squarings [ranges, ranges] and orders [ranges, dimensions], [CLS] first; retention [ranges - 1].
    """
    rows = [squarings[1:], squarings.T[1:], orders[1:], retention[:, None]]
    return torch.cat(rows, dim=1)


def dimension_groups(orders: Tensor) -> Tensor:
    """One row for each FFN dimension: its GeLU orders over the rank ranges."""
    return orders.T


def binary_surrogate(retention: Tensor) -> Tensor:
    """Sum of (m (1 - m))^2: nothing at 0 and 1."""
    return ((retention * (1 - retention)) ** 2).sum()


def soft_threshold(heights: Tensor, amount: Tensor | float) -> Tensor:
    """The proximal step of `amount` times the L1 norm: towards zero, and exactly there."""
    return heights.sign() * (heights.abs() - amount).clamp(min=0.0)


def group_shrinkage(groups: Tensor, amount: Tensor | float) -> Tensor:
    """The proximal step of `amount` times the group norm, as one factor in 0..1 for each group."""
    norms = groups.norm(dim=1)
    factor: Tensor = 1 - amount / norms.clamp(min=torch.finfo(groups.dtype).tiny)
    return factor.clamp(min=0.0)
