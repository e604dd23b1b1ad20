"""Where a run is: for whoever watches, and for whoever continues it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where a run is, for whoever watches; `left_s` is a guess from the steps so far."""

    stage: str
    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    cost_ratio: float
    left_s: float


@dataclass
class Position:
    """How far a run has come: what a resumed one needs beside tensors."""

    stage: int = 0
    epoch: int = 0
    rows: int = 0
    baseline: float = math.nan
    exchange: float = math.nan
    paused: bool = False
    failures: int = 0
    best_accuracy: float = math.nan
    start_ratio: float = math.nan
    checked_ratio: float = math.nan
