"""Train an uncompressed ViT from nothing: fewer patches first, all of them at the end, beside a teacher.

Most of a ViT's training needs no whole pictures: epochs in which every picture shows a random part of its
patches cost that part (Li et al., FLIP, CVPR 2023), and the last ones, with all patches, bring the model to
what it will see. Resumable after every epoch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from degreespar.models.vit import Vit
from degreespar.training.augment import Augmentation
from degreespar.training.execution import PLAIN, Execution
from degreespar.training.loop import EpochReport, LoadedPictures, TrainSettings, accuracy, make_optimiser
from degreespar.training.run_folder import STATE, RunFolder
from degreespar.training.task import shuffled


@dataclass(frozen=True)
class Phase:
    """`epochs` in which every picture shows so many of its patches."""

    epochs: int
    patches: int


@dataclass(frozen=True)
class BaselineSettings:
    """Everything that decides a run, apart from model, teacher and data.

    `distill` is the share of the loss that is the distance to the teacher's answers at `temperature`.
    """

    phases: tuple[Phase, ...]
    learning_rate: float = 1e-3
    batch: int = 128
    weight_decay: float = 0.05
    warmup_epochs: float = 1.0
    label_smoothing: float = 0.05
    distill: float = 0.0
    temperature: float = 2.0
    clip_norm: float = 1.0
    seed: int = 0

    @property
    def epochs(self) -> int:
        """Of all phases."""
        return sum(phase.epochs for phase in self.phases)

    def patches(self, epoch: int) -> int:
        """How many patches a picture shows in an epoch."""
        for phase in self.phases:
            if epoch < phase.epochs:
                return phase.patches
            epoch -= phase.epochs
        raise IndexError(f"the run has no epoch {epoch} past its end")

    def ends_phase(self, epoch: int) -> bool:
        """Whether an epoch is the last with so many patches."""
        return epoch + 1 == self.epochs or self.patches(epoch) != self.patches(epoch + 1)

    def rate(self, epoch: float) -> float:
        """Linear warm-up, then a cosine to nothing."""
        if epoch < self.warmup_epochs:
            return self.learning_rate * epoch / self.warmup_epochs
        done = (epoch - self.warmup_epochs) / (self.epochs - self.warmup_epochs)
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))


def train_baseline(
    model: nn.Module,
    teacher: nn.Module | None,
    data: LoadedPictures,
    held_out: LoadedPictures,
    settings: BaselineSettings,
    folder: RunFolder,
    report: Callable[[EpochReport], None],
    execution: Execution = PLAIN,
    augmentation: Augmentation | None = None,
) -> None:
    """Train `model` in place, or go on where the folder's checkpoint stands."""
    optimiser = make_optimiser(
        model, TrainSettings(settings.epochs, settings.learning_rate, weight_decay=settings.weight_decay)
    )
    augmentation = augmentation or Augmentation()
    first = _restored(model, optimiser, folder, data.labels.device)
    for epoch in range(first, settings.epochs):
        started_s = time.perf_counter()
        torch.manual_seed(settings.seed * 1009 + epoch)
        loss = _epoch(model, teacher, data, settings, epoch, optimiser, execution, augmentation)
        # With all patches a look at the hold-out costs as much as many steps with few.
        score = accuracy(model, held_out) if settings.ends_phase(epoch) else None
        state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "epoch": epoch + 1}
        folder.save(STATE, state)
        told = EpochReport(epoch, loss, score, time.perf_counter() - started_s)
        folder.append(asdict(told))
        report(told)


def some_patches(embedded: Tensor, patches: int) -> Tensor:
    """[CLS] and a random choice of the others, one for each picture; [batch, tokens, width]."""
    there = embedded.shape[1] - 1
    if patches >= there:
        return embedded
    order = torch.rand(len(embedded), there, device=embedded.device).argsort(dim=1)[:, :patches] + 1
    chosen = torch.cat([torch.zeros_like(order[:, :1]), order], dim=1)
    return embedded.gather(1, chosen[..., None].expand(-1, -1, embedded.shape[-1]))


def _epoch(
    model: nn.Module,
    teacher: nn.Module | None,
    data: LoadedPictures,
    settings: BaselineSettings,
    epoch: int,
    optimiser: torch.optim.Optimizer,
    execution: Execution,
    augmentation: Augmentation,
) -> float:
    model.train()
    device = data.labels.device
    steps = len(data) // settings.batch
    total = torch.zeros((), device=device)
    batches = shuffled(data, len(data), settings.batch, settings.seed * 1009 + epoch)
    for step, (pixels, labels) in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = settings.rate(epoch + step / steps)
        varied = augmentation.apply(pixels)
        with execution.products(device):
            logits = _logits(model, varied, settings.patches(epoch)).float()
        loss = functional.cross_entropy(logits, labels, label_smoothing=settings.label_smoothing)
        if teacher is not None and settings.distill:
            distance = _distance(logits, _answers(teacher, varied, execution), settings.temperature)
            loss = (1 - settings.distill) * loss + settings.distill * distance
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimiser.step()
        total += loss.detach()
    return float(total) / steps


def _logits(model: nn.Module, pixels: Tensor, patches: int) -> Tensor:
    if isinstance(model, Vit):
        return model.classified(some_patches(model.embedded(pixels), patches))
    logits: Tensor = model(pixels)
    return logits


def _answers(teacher: nn.Module, pixels: Tensor, execution: Execution) -> Tensor:
    with torch.no_grad(), execution.products(pixels.device):
        answers: Tensor = teacher(pixels).float()
    return answers


def _distance(logits: Tensor, answers: Tensor, temperature: float) -> Tensor:
    """Cross entropy with the teacher, both softened; its gradients keep their size."""
    wanted = (answers / temperature).softmax(dim=-1)
    return functional.cross_entropy(logits / temperature, wanted) * temperature**2


def _restored(
    model: nn.Module, optimiser: torch.optim.Optimizer, folder: RunFolder, device: torch.device
) -> int:
    state = folder.load(STATE, device)
    if state is None:
        folder.cut_rows(0)
        return 0
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    folder.cut_rows(state["epoch"])
    return int(state["epoch"])
