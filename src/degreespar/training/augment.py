"""Random crops, flips and erasures of a batch, on the batch's own device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Augmentation:
    """How much a training picture may change: shift in pixels, probabilities of flip and erasure."""

    shift_px: int = 2
    flip: float = 0.5
    erase: float = 0.25
    erase_px: int = 10

    def apply(self, pixels: Tensor) -> Tensor:
        """Augment normalised pixels [batch, channels, height, width]; each picture on its own."""
        return self._erased(self._flipped(self._shifted(pixels)))

    def _shifted(self, pixels: Tensor) -> Tensor:
        batch, _, height, width = pixels.shape
        # Fashion-MNIST's margin is its darkest value, so the edge's copy is what lies beyond it.
        padded = functional.pad(pixels, [self.shift_px] * 4, mode="replicate")
        offset = torch.randint(2 * self.shift_px + 1, (2, batch, 1), device=pixels.device)
        rows = torch.arange(height, device=pixels.device) + offset[0]
        columns = torch.arange(width, device=pixels.device) + offset[1]
        which = torch.arange(batch, device=pixels.device)[:, None, None]
        return padded[which, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

    def _flipped(self, pixels: Tensor) -> Tensor:
        chosen = torch.rand(len(pixels), 1, 1, 1, device=pixels.device) < self.flip
        return torch.where(chosen, pixels.flip(-1), pixels)

    def _erased(self, pixels: Tensor) -> Tensor:
        batch, _, height, width = pixels.shape
        inside = self._span(batch, height, pixels.device)[:, :, None]
        inside = inside & self._span(batch, width, pixels.device)[:, None, :]
        chosen = torch.rand(batch, 1, 1, device=pixels.device) < self.erase
        return pixels.masked_fill((inside & chosen)[:, None], 0.0)

    def _span(self, batch: int, size: int, device: torch.device) -> Tensor:
        length = torch.randint(1, self.erase_px + 1, (batch, 1), device=device)
        start = (torch.rand(batch, 1, device=device) * (size - length + 1)).long()
        position = torch.arange(size, device=device)
        return (position >= start) & (position < start + length)
