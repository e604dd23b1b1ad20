"""One `degreespar compress` from its options to its result."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from degreespar.degree.named_prices import prices_named
from degreespar.degree.prices import Prices
from degreespar.training.compress import Compression
from degreespar.training.errors import RecipeError
from degreespar.training.execution import PLAIN, Execution
from degreespar.training.finish import finish
from degreespar.training.progress import Progress
from degreespar.training.recipe import Recipe, load_recipe
from degreespar.training.run_folder import RunFolder
from degreespar.training.sources import open_model, open_task
from degreespar.training.workers import Workers, gather_workers

SOURCE = "source"
"""The folder inside a run that holds a copy of the model it began with."""


@dataclass(frozen=True)
class Session:
    """What a user asked for."""

    model: Path
    data: str
    data_folder: Path | None
    recipe: str
    out: Path
    changes: Mapping[str, object] = field(default_factory=dict)
    prices: str = "paper"
    price_table: Path | None = None
    adapted: Path | None = None
    tokens: int | None = None
    seed: int = 0
    execution: Execution = PLAIN


@dataclass(frozen=True)
class Outcome:
    """Figures and configuration of a finished run; `first` is the worker that reports them."""

    figures: dict[str, Any]
    config: dict[str, Any]
    first: bool
    gpu: str | None


def compress(session: Session, say: Callable[[str], None], report: Callable[[Progress], None]) -> Outcome:
    """Run or continue; everything that can be wrong with the options is found before anything is written."""
    recipe = load_recipe(session.recipe, session.changes)
    prices = open_prices(session.prices, session.price_table)
    checkpoint = open_model(session.model, session.tokens)
    start = open_model(session.adapted or session.model, session.tokens)
    if start.model.geometry != checkpoint.model.geometry:
        raise RecipeError(f"the model in {session.adapted} has not the shape of the one in {session.model}")
    workers = gather_workers()
    task = open_task(session.data, session.data_folder, checkpoint, recipe, workers.device)
    folder = RunFolder(session.out)
    config = configuration(session, recipe)
    if workers.first:
        folder.begin(config)
        copy_source(session.model, session.out / SOURCE)
    workers.wait()
    run = Compression(
        start.model,
        checkpoint.model,
        task,
        recipe,
        prices,
        folder,
        workers,
        session.seed,
        report,
        session.execution,
    )
    run.run()
    result = finish(run, say if workers.first else _silent)
    return Outcome(result.figures, config, workers.first, _gpu(workers))


def configuration(session: Session, recipe: Recipe) -> dict[str, Any]:
    """What has to be the same for a run to be continued."""
    return {
        "recipe": recipe.to_json(),
        "model_sha256": _digest(session.model),
        "adapted_sha256": _digest(session.adapted or session.model),
        "data": session.data,
        "tokens": session.tokens,
        "prices": session.prices,
        "seed": session.seed,
    }


def open_prices(name: str, table: Path | None) -> Prices:
    """The prices of a name; measured ones from a file, or those that come with the package."""
    return prices_named(name, table)


def copy_source(model: Path, into: Path) -> None:
    """The model's own files, so that a run needs nothing outside itself."""
    into.mkdir(exist_ok=True)
    for path in sorted(model.iterdir()):
        if path.is_file():
            shutil.copyfile(path, into / path.name)


def _digest(model: Path) -> str:
    return hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()


def _gpu(workers: Workers) -> str | None:
    return torch.cuda.get_device_name(workers.device) if workers.device.type == "cuda" else None


def _silent(text: str) -> None:
    """Of several workers one speaks."""
