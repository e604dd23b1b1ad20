"""One process or several, as `torchrun` starts them: who does which part, and what they share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from degreespar.training.errors import RunError

DEADLINE = timedelta(minutes=10)


@dataclass(frozen=True)
class Workers:
    """This process among `count`; each holds the whole model and its part of every batch."""

    number: int
    count: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this is the one that writes."""
        return self.number == 0

    def mean_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its mean over the workers."""
        if self.count == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        flat /= self.count
        start = 0
        for gradient in gradients:
            gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()

    def total(self, value: float) -> float:
        """The sum over the workers."""
        if self.count == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return float(tensor)

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            dist.barrier()


def gather_workers() -> Workers:
    """The group that the environment (RANK, WORLD_SIZE, LOCAL_RANK) names; alone without one."""
    cuda = torch.cuda.is_available()
    count, number = (int(os.environ.get(name, alone)) for name, alone in (("WORLD_SIZE", "1"), ("RANK", "0")))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if cuda and local >= torch.cuda.device_count():
        raise RunError(f"there are {torch.cuda.device_count()} GPUs, and process {number} asks for one more")
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if count > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if cuda else "gloo", timeout=DEADLINE)
    return Workers(number, count, device)
