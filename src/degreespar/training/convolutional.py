"""A small residual network for pictures, that baselines may learn from; it is never deployed."""

from __future__ import annotations

from torch import Tensor, nn


class Residual(nn.Module):
    """Two convolutions added to their input."""

    def __init__(self, channels: int) -> None:
        nn.Module.__init__(self)
        self.body = nn.Sequential(*_convolution(channels, channels), *_convolution(channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        """Map [batch, channels, height, width] to the same shape."""
        output: Tensor = x + self.body(x)
        return output


class ConvolutionalTeacher(nn.Module):
    """Normalised pixels [batch, channels, height, width] to logits, down to a quarter of the sides."""

    def __init__(self, channels: int, classes: int, width: int = 48) -> None:
        nn.Module.__init__(self)
        self.body = nn.Sequential(
            *_convolution(channels, width),
            *_convolution(width, 2 * width),
            nn.MaxPool2d(2),
            Residual(2 * width),
            *_convolution(2 * width, 4 * width),
            nn.MaxPool2d(2),
            Residual(4 * width),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(4 * width, classes)

    def forward(self, pixels: Tensor) -> Tensor:
        """Classify."""
        logits: Tensor = self.head(self.body(pixels)) * 0.125
        return logits


def _convolution(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
