"""A run's profile as a file: seconds, bytes and flips per layer, kind of work and phase."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from degreespar.degree.strict_json import (
    read_json_file,
    take_float,
    take_int,
    take_list,
    take_object,
    take_str,
)
from degreespar.engine.trace import PART_SEPARATOR
from degreespar.party.errors import ProfileError
from degreespar.party.report import Cost, RunReport

FORMAT = "degreespar profile 1"
MAX_BYTES = 1 << 24
PHASES = ("prepare", "answer")
_COUNTS = ("to_client_bytes", "to_server_bytes", "flips")


@dataclass(frozen=True)
class Profile:
    """Sums over all answers, by (layer, kind of work) and phase, in the program's order."""

    model: str
    artifact: str
    answers: int
    parts: Mapping[tuple[str, str], Mapping[str, Cost]]

    @classmethod
    def of_runs(cls, model: str, artifact: str, reports: Sequence[RunReport]) -> "Profile":
        """From the reports of answers that were prepared by kind."""
        parts: dict[tuple[str, str], dict[str, Cost]] = {}
        for window in (window for report in reports for window in report.windows):
            layer, _, kind = window.name.partition(PART_SEPARATOR)
            costs = parts.setdefault((layer, kind), {phase: Cost() for phase in PHASES})
            costs["prepare"] += window.prepare
            costs["answer"] += window.answer
        # A layer's own window, whose work lies in its parts, sends nothing.
        talking = {key: costs for key, costs in parts.items() if key[1] or _bytes(costs)}
        return cls(model, artifact, len(reports), talking)

    def to_json(self) -> dict[str, object]:
        """For the file."""
        parts = [
            {"layer": layer, "kind": kind, **{phase: asdict(costs[phase]) for phase in PHASES}}
            for (layer, kind), costs in self.parts.items()
        ]
        facts = {"model": self.model, "artifact": self.artifact, "answers": self.answers}
        return {"format": FORMAT, **facts, "parts": parts}

    @classmethod
    def from_json(cls, value: object) -> "Profile":
        """Reads what `to_json` wrote."""
        names = ("format", "model", "artifact", "answers", "parts")
        found = take_object(value, names, "profile", ProfileError)
        if found["format"] != FORMAT:
            raise ProfileError(f"this is no file of the format {FORMAT!r}")
        parts = [_read_part(part) for part in take_list(found["parts"], "profile.parts", ProfileError)]
        answers = take_int(found["answers"], "profile.answers", ProfileError)
        if answers < 1 or not parts:
            raise ProfileError("a profile holds at least one answer and one part")
        model, artifact = (take_str(found[name], name, ProfileError) for name in ("model", "artifact"))
        return cls(model, artifact, answers, dict(parts))


def write_profile(path: Path, profile: Profile) -> None:
    """To a file."""
    try:
        path.write_text(json.dumps(profile.to_json(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ProfileError(f"cannot write {path}: {error.strerror}") from error


def read_profile(path: Path) -> Profile:
    """From a file."""
    value = read_json_file(path, MAX_BYTES, "a profile", ProfileError)
    try:
        return Profile.from_json(value)
    except ProfileError as error:
        raise ProfileError(f"{path}: {error}") from error


def _bytes(costs: Mapping[str, Cost]) -> int:
    return sum(cost.to_client_bytes + cost.to_server_bytes for cost in costs.values())


def _read_part(value: object) -> tuple[tuple[str, str], dict[str, Cost]]:
    parts = take_object(value, ("layer", "kind", *PHASES), "profile.parts", ProfileError)
    layer, kind = (take_str(parts[name], f"profile.parts.{name}", ProfileError) for name in ("layer", "kind"))
    return (layer, kind), {phase: _read_cost(parts[phase]) for phase in PHASES}


def _read_cost(value: object) -> Cost:
    parts = take_object(value, ("seconds", *_COUNTS), "profile.parts", ProfileError)
    seconds = take_float(parts["seconds"], "profile.parts.seconds", ProfileError)
    return Cost(seconds, *(take_int(parts[name], name, ProfileError) for name in _COUNTS))
