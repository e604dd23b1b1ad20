"""How a run computes: what changes its roundings and its speed, not what it means."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from degreespar.models.functions import AS_WRITTEN, Functions, fused_functions


@dataclass(frozen=True)
class Execution:
    """`fused` makes one loop of each nonlinear function; `bfloat16` asks a CPU for such products.

    On a GPU matrix products of training are bfloat16 anyway. Accuracies are measured in float32.
    """

    fused: bool = False
    bfloat16: bool = False

    def products(self, device: torch.device) -> AbstractContextManager[object]:
        """The context of a training step's forward pass."""
        if device.type == "cuda" or self.bfloat16:
            return torch.autocast(device.type, dtype=torch.bfloat16)
        return nullcontext()

    @property
    def functions(self) -> Functions:
        """The nonlinear functions to call."""
        return fused_functions() if self.fused else AS_WRITTEN


PLAIN = Execution()
