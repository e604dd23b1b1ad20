"""The training loop: AdamW, warm-up and cosine, label smoothing; data stay on the device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from degreespar.models.normalisation import Normalisation
from degreespar.models.vit import Vit
from degreespar.training.augment import Augmentation
from degreespar.training.data import Pictures
from degreespar.training.execution import PLAIN, Execution


@dataclass(frozen=True)
class TrainSettings:
    """Everything that decides a run, apart from the model and the data."""

    epochs: int
    learning_rate: float
    batch: int = 512
    weight_decay: float = 0.05
    warmup_epochs: float = 2.0
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    seed: int = 0
    compiled: bool = False
    execution: Execution = PLAIN


@dataclass(frozen=True)
class LoadedPictures:
    """Pictures on a device, still as bytes, with the normalisation that goes with them."""

    pixels: Tensor
    labels: Tensor
    normalisation: Normalisation

    @staticmethod
    def of(pictures: Pictures, normalisation: Normalisation, device: torch.device) -> LoadedPictures:
        """Move `pictures` to `device`."""
        pixels = torch.from_numpy(pictures.pixels.copy()).to(device)
        labels = torch.from_numpy(pictures.labels.astype("int64")).to(device)
        return LoadedPictures(pixels, labels, normalisation)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The pictures at `indices`, normalised, and their labels."""
        chosen = indices.to(self.labels.device)
        return self.normalisation.apply(self.pixels[chosen]), self.labels[chosen]

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """All pictures in order, normalised."""
        for start in range(0, len(self.labels), size):
            chosen = slice(start, start + size)
            yield self.normalisation.apply(self.pixels[chosen]), self.labels[chosen]

    def shuffled(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """One epoch of full batches in random order, normalised; the remainder waits for the next."""
        order = torch.randperm(len(self.labels), device=self.labels.device)
        for chosen in order[: len(order) // size * size].view(-1, size):
            yield self.normalisation.apply(self.pixels[chosen]), self.labels[chosen]


@dataclass(frozen=True)
class EpochReport:
    """What one epoch came to; `accuracy` is on the held-out pictures, None where it was not measured."""

    epoch: int
    loss: float
    accuracy: float | None
    seconds: float


def accuracy(model: nn.Module, pictures: LoadedPictures, batch: int = 1000) -> float:
    """The fraction that `model`, as it now computes (exact or by its policy), gets right, in float32."""
    model.eval()
    right = 0
    with torch.no_grad():
        for pixels, labels in pictures.batches(batch):
            right += int((model(pixels).argmax(dim=-1) == labels).sum())
    return right / len(pictures.labels)


def train(
    model: Vit,
    data: LoadedPictures,
    held_out: LoadedPictures,
    settings: TrainSettings,
    report: Callable[[EpochReport], None],
    augmentation: Augmentation | None = None,
    measure_every: int = 10,
) -> None:
    """Train `model` in place, in the mode (exact or policy) that it is in."""
    torch.manual_seed(settings.seed)
    augmentation = augmentation or Augmentation()
    optimiser = make_optimiser(model, settings)
    steps = max(1, len(data.labels) // settings.batch)
    forward = torch.compile(model) if settings.compiled else model
    for epoch in range(settings.epochs):
        started_s = time.perf_counter()
        model.train()
        total = torch.zeros((), device=data.labels.device)
        for step, (pixels, labels) in enumerate(data.shuffled(settings.batch)):
            set_rate(optimiser, settings, epoch + step / steps)
            total += train_step(forward, model, augmentation.apply(pixels), labels, optimiser, settings)
        measured = (epoch + 1) % measure_every == 0 or epoch + 1 == settings.epochs
        score = accuracy(model, held_out) if measured else None
        report(EpochReport(epoch, float(total) / steps, score, time.perf_counter() - started_s))


def train_step(
    forward: Callable[[Tensor], Tensor],
    model: Vit,
    pixels: Tensor,
    labels: Tensor,
    optimiser: torch.optim.Optimizer,
    settings: TrainSettings,
) -> Tensor:
    """One step of the optimiser; gives the loss, without waiting for the device."""
    with settings.execution.products(pixels.device):
        logits = forward(pixels)
    loss = functional.cross_entropy(logits.float(), labels, label_smoothing=settings.label_smoothing)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
    optimiser.step()
    return loss.detach()


def make_optimiser(model: nn.Module, settings: TrainSettings) -> torch.optim.Optimizer:
    """AdamW that decays matrices alone: biases, norms, positions and [CLS] are left free."""
    decayed: list[Tensor] = []
    free: list[Tensor] = []
    for name, parameter in model.named_parameters():
        matrix = parameter.ndim == 2 and name != "positions"
        (decayed if matrix else free).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate)


def set_rate(optimiser: torch.optim.Optimizer, settings: TrainSettings, epoch: float) -> None:
    """Linear warm-up, then a cosine to zero at the last epoch."""
    warm = min(settings.warmup_epochs, settings.epochs / 4)
    if epoch < warm:
        scale = epoch / warm
    else:
        scale = 0.5 * (1.0 + math.cos(math.pi * (epoch - warm) / (settings.epochs - warm)))
    for group in optimiser.param_groups:
        group["lr"] = settings.learning_rate * scale
