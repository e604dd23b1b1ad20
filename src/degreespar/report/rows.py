"""Reading back what commands wrote to `results/`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from degreespar.errors import DegreeSparError

RowJson = Mapping[str, Any]


class ReportError(DegreeSparError):
    """Rows or documents that cannot be rendered."""


def read_rows(results: Path, kind: str) -> list[RowJson]:
    """All rows of a kind, oldest first; none where the file is missing."""
    path = results / f"{kind}.jsonl"
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise ReportError(f"{path} does not hold one JSON object a line: {error}") from error


def newest_of_each(rows: list[RowJson]) -> list[RowJson]:
    """The last row of every name, in the order in which the names first came."""
    return list({row["name"]: row for row in rows}.values())


def place_of(row: RowJson) -> str:
    """Where and from what a row was measured, in one line."""
    machine = row["machine"]
    accelerator = f", {machine['gpu']}" if machine.get("gpu") else ""
    return (
        f"{machine['cpu']}, {machine['cores']} cores{accelerator}; {row['network']};"
        f" commit {row['commit'][:7]}{'+' if row['commit'].endswith('+') else ''}; {row['when'][:10]}"
    )
