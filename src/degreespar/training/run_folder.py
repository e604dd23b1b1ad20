"""The folder of a run: what was asked for, rows as it goes, checkpoints that are whole or not there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from degreespar.training.errors import RunError

CONFIG, METRICS, STATE, BEST, FINAL = "config.json", "metrics.jsonl", "state.pt", "best.pt", "final"


@dataclass(frozen=True)
class RunFolder:
    """Written by the first worker alone; read by all."""

    path: Path

    def begin(self, config: Mapping[str, object]) -> None:
        """Make the folder, or take it up again if it was begun with the same configuration."""
        if not self.begun:
            if self.path.exists() and any(self.path.iterdir()):
                raise RunError(f"{self.path} is not empty and holds no run")
            self.path.mkdir(parents=True, exist_ok=True)
            self._write(CONFIG, json.dumps(config, indent=1, sort_keys=True).encode() + b"\n")
            return
        before, now = self.config(), json.loads(json.dumps(config))
        for name in sorted(set(before) | set(now)):
            if before.get(name) != now.get(name):
                raise RunError(
                    f"{self.path} was begun with another {name}: continue it as it was, or elsewhere"
                )

    @property
    def begun(self) -> bool:
        """Whether there is a run."""
        return (self.path / CONFIG).exists()

    def config(self) -> dict[str, Any]:
        """What the run was begun with."""
        return self._read_json(CONFIG)

    def append(self, row: Mapping[str, object]) -> None:
        """One more row of metrics."""
        with (self.path / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """All rows so far."""
        path = self.path / METRICS
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def cut_rows(self, count: int) -> None:
        """Forget what came after a checkpoint: it will come again. A torn last line goes, too."""
        path = self.path / METRICS
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()[:count]
            self._write(METRICS, "".join(f"{line}\n" for line in lines).encode())

    def save(self, name: str, state: Mapping[str, object]) -> None:
        """A checkpoint: the old one stays until the new one is whole."""
        new = self.path / f"{name}.new"
        torch.save(dict(state), new)
        new.replace(self.path / name)

    def load(self, name: str, device: torch.device) -> dict[str, Any] | None:
        """A checkpoint, or None where there is none yet."""
        path = self.path / name
        if not path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        except (OSError, RuntimeError, ValueError, LookupError, UnpicklingError) as error:
            raise RunError(f"{path} is not a checkpoint of a run") from error
        return state

    def _read_json(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{path} cannot be read: {self.path} holds no run") from error
        return value

    def _write(self, name: str, content: bytes) -> None:
        new = self.path / f"{name}.new"
        new.write_bytes(content)
        new.replace(self.path / name)
