"""The nonlinear functions that a behaviour calls: as they are written, or each fused into one loop.

Written in torch, a blend of three states reads and writes its tensors some thirty times; torch.compile makes
one pass of it. Only these functions are compiled, not the model around them: their shapes change with every
range of tokens that goes, and a model would be compiled anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

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
    return Functions(
        torch.compile(softmax_by_squarings, dynamic=True),
        torch.compile(gelu_by_order, dynamic=True),
        torch.compile(relaxed_softmax, dynamic=True),
        torch.compile(relaxed_gelu, dynamic=True),
    )
