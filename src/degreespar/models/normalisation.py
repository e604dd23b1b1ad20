"""From a picture's bytes to what a model is fed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Normalisation:
    """Pixels are divided by 255, then have `mean` taken off and are divided by `std`, per channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def apply(self, pixels: Tensor) -> Tensor:
        """Bytes [batch, channels, height, width] to normalised float32."""
        mean = torch.tensor(self.mean, device=pixels.device).view(-1, 1, 1)
        std = torch.tensor(self.std, device=pixels.device).view(-1, 1, 1)
        return (pixels.float() / 255.0 - mean) / std
