"""The nonlinear functions that a behaviour calls: as they are written, or each fused into one loop.

Written in torch, a blend of three states reads and writes its tensors some thirty times, and keeps most of
them for its gradient. torch.compile makes one pass of it, and another of its gradient, which computes
everything again from the input: five times faster on a CPU. Only these functions are compiled, not the
model around them: their shapes change with every range of tokens that goes, and a model would be compiled
anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from degreespar.models.aware import EXACT_TRAINING, Awareness
from degreespar.models.nonlinear import gelu_by_order, softmax_by_squarings
from degreespar.models.relaxed import relaxed_gelu, relaxed_softmax

COMPILED_FORMS = 256
"""How many forms of one function may be compiled: sets of states, with and without presence, shapes."""


@dataclass(frozen=True)
class Functions:
    """What `models.nonlinear` and `models.relaxed` define, by name."""

    softmax: Callable[..., Tensor] = softmax_by_squarings
    gelu: Callable[..., Tensor] = gelu_by_order
    relaxed_softmax: Callable[..., Tensor] = relaxed_softmax
    relaxed_gelu: Callable[..., Tensor] = relaxed_gelu


AS_WRITTEN = Functions()


@cache
def fused_functions() -> Functions:
    """The same functions, compiled when they are first called."""
    # Past its limit torch silently runs what is written; several ladders and shapes pass the usual 8.
    torch._dynamo.config.recompile_limit = COMPILED_FORMS
    relaxed = _Fused.of(_softmax_of), _Fused.of(_gelu_of)
    hard = _Fused.of(_hard_softmax_of), _Fused.of(_hard_gelu_of)

    def fused_softmax(
        scores: Tensor,
        weights: dict[int, Tensor],
        presence: Tensor | None = None,
        awareness: Awareness = EXACT_TRAINING,
        draws: Tensor | None = None,
    ) -> Tensor:
        there = () if presence is None else (presence,)
        return relaxed[0]((tuple(weights), awareness, draws), (scores, *weights.values(), *there))

    def fused_gelu(
        x: Tensor,
        weights: dict[int, Tensor],
        awareness: Awareness = EXACT_TRAINING,
        draws: Tensor | None = None,
    ) -> Tensor:
        return relaxed[1]((tuple(weights), awareness, draws), (x, *weights.values()))

    return Functions(
        lambda scores, grid, states: hard[0]((grid, states), (scores,)),
        lambda x, grid, states: hard[1]((grid, states), (x,)),
        fused_softmax,
        fused_gelu,
    )


Fixed = tuple[Any, ...]
"""What has no gradient: grids and states; or states, awareness and draws."""


def _hard_softmax_of(fixed: Fixed, scores: Tensor) -> Tensor:
    return softmax_by_squarings(scores, *fixed)


def _hard_gelu_of(fixed: Fixed, x: Tensor) -> Tensor:
    return gelu_by_order(x, *fixed)


def _softmax_of(fixed: Fixed, scores: Tensor, *rest: Tensor) -> Tensor:
    states, awareness, draws = fixed
    weights, presence = dict(zip(states, rest, strict=False)), rest[len(states) :]
    return relaxed_softmax(scores, weights, presence[0] if presence else None, awareness, draws)


def _gelu_of(fixed: Fixed, x: Tensor, *rest: Tensor) -> Tensor:
    states, awareness, draws = fixed
    return relaxed_gelu(x, dict(zip(states, rest, strict=True)), awareness, draws)


@dataclass(frozen=True)
class _Fused:
    """A function of fixed things and of tensors, and its gradient, one loop each."""

    run: Callable[..., Tensor]
    pull: Callable[..., tuple[Tensor, ...]]

    @staticmethod
    def of(function: Callable[..., Tensor]) -> _Fused:
        """Compile both when they are first called."""

        def pull(gradient: Tensor, fixed: Fixed, moving: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            back = torch.func.vjp(lambda *tensors: function(fixed, *tensors), *moving)[1]
            gradients: tuple[Tensor, ...] = back(gradient)
            return gradients

        return _Fused(torch.compile(function, dynamic=True), torch.compile(pull, dynamic=True))

    def __call__(self, fixed: Fixed, moving: tuple[Tensor, ...]) -> Tensor:
        result: Tensor = _Recomputed.apply(self, fixed, *moving)
        return result


class _Recomputed(torch.autograd.Function):
    """Keeps its inputs alone; the gradient computes what lies between again."""

    @staticmethod
    def forward(ctx: Any, fused: _Fused, fixed: Fixed, *moving: Tensor) -> Tensor:
        ctx.fused, ctx.fixed = fused, fixed
        ctx.save_for_backward(*moving)
        return fused.run(fixed, *moving)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.fused.pull(gradient, ctx.fixed, ctx.saved_tensors)
