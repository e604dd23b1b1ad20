"""Models, variables and tasks of a size that a test can train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from degreespar.artifact import VitGeometry
from degreespar.degree.paper_prices import paper_prices
from degreespar.models import Normalisation, Vit
from degreespar.models.aware import Awareness
from degreespar.models.relaxed import Ladder
from degreespar.training import LoadedPictures, Pictures, TrainSettings, train
from degreespar.training.augment import Augmentation
from degreespar.training.classifier import with_state
from degreespar.training.compress import Compression
from degreespar.training.progress import Progress
from degreespar.training.recipe import Recipe, Stage
from degreespar.training.run_folder import RunFolder
from degreespar.training.sparsify import SparsifySettings
from degreespar.training.task import Task, picture_task
from degreespar.training.variables import PolicyVariables, Space, even_sizes
from degreespar.training.workers import Workers

GEOMETRY = VitGeometry(8, 2, 1, 16, 2, (24, 20, 16), 3, 1e-6)
CPU = torch.device("cpu")
NORMALISATION = Normalisation((0.4,), (0.3,))
PLAIN = Augmentation(0, 0.0, 0.0)
QUIET = Awareness(0.0, False)


def made_model(seed: int = 0, geometry: VitGeometry = GEOMETRY) -> Vit:
    """Parameters away from their start, norms and biases too."""
    torch.manual_seed(seed)
    model = Vit(geometry)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def made_pictures(count: int, seed: int = 0) -> Pictures:
    """Pictures whose class is where their light is."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count).astype(np.uint8)
    pixels = rng.integers(0, 120, (count, 1, 8, 8)).astype(np.uint8)
    for index, label in enumerate(labels):
        pixels[index, :, :, 2 * label : 2 * label + 3] += 120
    return Pictures(pixels, labels)


def loaded(pictures: Pictures) -> LoadedPictures:
    return LoadedPictures.of(pictures, NORMALISATION, CPU)


def made_task(training: int = 320) -> Task:
    return picture_task("light", made_pictures(training), made_pictures(100, 1), loaded, 80, 7, PLAIN)


def trained_model(geometry: VitGeometry = GEOMETRY) -> Vit:
    """One that answers the task."""
    model = made_model(geometry=geometry)
    data = loaded(made_pictures(480, 5))
    train(model, data, data, TrainSettings(3, 5e-3, batch=16, seed=3), lambda report: None, PLAIN)
    return model


def made_variables(seed: int | None = None, model: Vit | None = None, ranges: int = 4) -> PolicyVariables:
    """At the start, or anywhere on the ladders with the last range gone from layer 1 on."""
    geometry = GEOMETRY if model is None else model.geometry
    space = Space(even_sizes(geometry.tokens - 1, ranges), Ladder((-1, 0, 1, 2)), Ladder((0, 1, 2)), 2.0)
    variables = PolicyVariables(space, geometry, 2, 2)
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for squarings in variables.squarings:
                squarings.copy_(torch.rand(squarings.shape, generator=generator) * 3 - 1)
            for orders in variables.orders:
                orders.copy_(torch.rand(orders.shape, generator=generator) * 2)
            for retention in variables.retention:
                retention[-1] = 0.2
        variables.project()
    return variables


def made_recipe(epochs: int = 4, **changes: object) -> Recipe:
    """A few seconds: degrees fall towards a fifth of the cost."""
    stage = {"learning_rate": 2e-3, "batch": 16, "awareness": QUIET}
    stages = (
        Stage("adapt", 1, **stage),  # type: ignore[arg-type]
        Stage("sparsify", epochs, checks_per_epoch=2, **stage),  # type: ignore[arg-type]
        Stage("finish", 1, **stage),  # type: ignore[arg-type]
    )
    settings = SparsifySettings(
        squarings_rate=0.1, orders_rate=0.1, dimensions_rate=0.1, retention_rate=0.05, target_ratio=0.2
    )
    values = {"stages": stages, "sparsify": settings, "ranges": 4, "steps_per_price": 3, "calibration": 60}
    values |= {"tolerance_points": 10.0, "patience": 3, "held_out": 80, "check_batch": 40} | changes
    return Recipe(**values)  # type: ignore[arg-type]


def made_run(
    folder: Path,
    recipe: Recipe,
    model: Vit | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    seed: int = 0,
    workers: Workers | None = None,
) -> Compression:
    run_folder = RunFolder(folder)
    workers = workers or Workers(0, 1, CPU)
    if workers.first:
        run_folder.begin({"recipe": recipe.to_json(), "seed": seed})
    model = trained_model() if model is None else model
    teacher = with_state(model, dict(model.state_dict()))
    return Compression(model, teacher, made_task(), recipe, paper_prices(), run_folder, workers, seed, report)
