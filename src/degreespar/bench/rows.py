"""The row type: one measured result as one JSON line in results/<kind>.jsonl, never edited by hand."""

import errno
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from degreespar.errors import DegreeSparError

KINDS = frozenset(
    {
        "engine.primitive",
        "engine.layer",
        "engine.model",
        "price",
        "train.final",
        "train.ablation",
        "train.sweep",
        "private.eval",
        "selection",
        "demo",
        "demo.text",
    }
)
PACKAGES = ("degreespar", "numpy", "pillow", "safetensors")
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.,=/ -]*")


class RowError(DegreeSparError):
    """A row that cannot be made or written."""


@dataclass(frozen=True)
class Row:
    """What was run, where, and what it measured; names of metrics end in their unit."""

    kind: str
    name: str
    commit: str
    machine: Mapping[str, object]
    network: str
    seed: int | None
    versions: Mapping[str, str]
    config: Mapping[str, object]
    metrics: Mapping[str, object]
    when: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RowError(f"no kind of row is called {self.kind!r}")
        if not _NAME.fullmatch(self.name):
            raise RowError(f"{self.name!r} cannot name a row")
        if not self.metrics:
            raise RowError("a row without metrics says nothing")


def measured(
    kind: str,
    name: str,
    config: Mapping[str, object],
    metrics: Mapping[str, object],
    network: str = "none",
    seed: int | None = None,
    gpu: str | None = None,
) -> Row:
    """A row of this machine, this commit and this moment."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    machine = {"cpu": cpu_name(), "cores": _cores(), "gpu": gpu}
    return Row(kind, name, current_commit(), machine, network, seed, _versions(), config, metrics, now)


def check_folder(folder: Path) -> None:
    """Before a long measurement: an error if its row could not be added to this folder afterwards."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RowError(f"cannot write rows to {folder}: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise RowError(f"cannot write rows to {folder}: it is not writable")


def append(row: Row, folder: Path) -> Path:
    """Adds the row to its kind's file."""
    path = folder / f"{row.kind}.jsonl"
    try:
        line = json.dumps(asdict(row), sort_keys=True, allow_nan=False) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        _append_whole(path, line.encode())
    except (OSError, ValueError, TypeError) as error:
        raise RowError(f"cannot write a row to {path}: {error}") from error
    return path


def _append_whole(path: Path, line: bytes) -> None:
    """On a full disk the file stays as it was: half a row would spoil those that follow."""
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            file.truncate(before)
            raise


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


_CHANGES = ("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)results/*.jsonl")


def current_commit() -> str:
    """The commit of the working folder; `+` behind it: with changes that are not in it.

    Rows do not count: one bench after another adds them at the same commit.
    """
    head = _git("rev-parse", "HEAD")
    if head is None:
        return "unknown"
    return head + ("+" if _git(*_CHANGES) else "")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cores() -> int:
    if os.name == "posix" and platform.system() == "Linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_name() -> str:
    """What the operating system calls the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()
