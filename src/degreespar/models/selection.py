"""Which tokens matter, and how they are put into rank ranges: in torch, as the private program does it."""

from __future__ import annotations

import torch
from torch import Tensor


def significance(variance: Tensor, attention: Tensor, alpha: float) -> Tensor:
    """The VCA score [batch, tokens - 1] of every token but [CLS].

    `variance` [batch, tokens] is each token's at the layer's first norm, `attention` [batch, tokens]
    what [CLS] pays it, averaged over heads. Each is divided by its mean over the scored tokens, so
    that `alpha` mixes two numbers of the same size.
    """
    spread, paid = variance[:, 1:].float(), attention[:, 1:].float()
    # [CLS] may pay all its attention to itself: then nobody has any, and the mean divides nothing.
    mean_paid = paid.mean(dim=-1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
    return alpha * spread / spread.mean(dim=-1, keepdim=True) + (1 - alpha) * paid / mean_paid


def routing(scores: Tensor, ranges: tuple[int, ...]) -> Tensor:
    """Where the tokens that stay come from [batch, 1 + sum(ranges)], by position of the layer's input.

    [CLS] comes first, then the ranges, most significant first; inside a range tokens keep their order,
    and among equal scores the lower position is more significant. The other tokens are dropped.
    """
    batch, scored = scores.shape
    bounds = torch.tensor(ranges, device=scores.device).cumsum(dim=0)
    ranks = torch.arange(scored, device=scores.device)
    range_of_rank = torch.searchsorted(bounds, ranks, right=True)
    by_rank = scores.argsort(dim=-1, descending=True, stable=True)
    range_of_token = torch.empty_like(by_rank).scatter_(-1, by_rank, range_of_rank.expand(batch, -1))
    kept = (range_of_token * scored + ranks).argsort(dim=-1)[:, : sum(ranges)]
    return torch.cat([kept.new_zeros(batch, 1), kept + 1], dim=-1)


def routed(x: Tensor, sources: Tensor) -> Tensor:
    """The tokens of x [batch, tokens, ...] that `sources` names, in its order."""
    index = sources.view(*sources.shape, *[1] * (x.ndim - 2))
    return x.gather(1, index.expand(-1, -1, *x.shape[2:]))
