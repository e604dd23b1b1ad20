"""Many runs that differ in named changes and seeds: ablations and fronts, from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from degreespar.training.errors import RecipeError
from degreespar.training.recipe import PRICES, read
from degreespar.training.session import Session

SWEEP_KINDS = ("train.sweep", "train.ablation")
PRICES_CHANGE = "prices"
"""The one change that is no part of a recipe."""


@dataclass(frozen=True)
class Sweep:
    """`base` changes the recipe for all points; each point has its own changes on top, by dotted names."""

    kind: str
    name: str
    seeds: tuple[int, ...]
    base: dict[str, object]
    points: dict[str, dict[str, object]]

    def __post_init__(self) -> None:
        if self.kind not in SWEEP_KINDS:
            raise RecipeError(f"a sweep's kind is one of {', '.join(SWEEP_KINDS)}, not {self.kind!r}")
        if not self.seeds or not self.points:
            raise RecipeError("a sweep needs a seed and a point at least")
        for changes in self.points.values():
            if changes.get(PRICES_CHANGE, PRICES[0]) not in PRICES:
                raise RecipeError(f"prices are one of {', '.join(PRICES)}, not {changes[PRICES_CHANGE]!r}")


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: what its row is called, and what is run."""

    row: str
    session: Session


def load_sweep(name: str) -> Sweep:
    """A sweep of the package by name, or a JSON file by path."""
    path = Path(name)
    packaged = files("degreespar.training") / "sweeps" / f"{name}.json"
    try:
        text = path.read_text("utf-8") if path.suffix == ".json" else packaged.read_text("utf-8")
        value = json.loads(text)
    except FileNotFoundError as error:
        raise RecipeError(f"there is no sweep {name!r}: give a name of the package or a JSON file") from error
    except (OSError, ValueError) as error:
        raise RecipeError(f"the sweep {name} cannot be read as JSON") from error
    sweep: Sweep = read(Sweep, value, "sweep")
    return sweep


def runs_of(sweep: Sweep, session: Session) -> Iterator[SweepRun]:
    """Every point with every seed, each in a folder of its own below the session's."""
    for point, changes in sweep.points.items():
        own = {name: change for name, change in changes.items() if name != PRICES_CHANGE}
        prices = str(changes.get(PRICES_CHANGE, session.prices))
        for seed in sweep.seeds:
            all_changes: Mapping[str, object] = {**sweep.base, **own, **session.changes}
            folder = re.sub(r"[^a-zA-Z0-9.-]+", "_", point) + f"-seed{seed}"
            run = replace(session, changes=all_changes, prices=prices, seed=seed, out=session.out / folder)
            yield SweepRun(f"{sweep.name}, {point}, seed {seed}", run)
