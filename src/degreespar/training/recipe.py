"""A run as data: its stages, its rates, its stop rule. Recipes are JSON files, read strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from degreespar.models.aware import Awareness
from degreespar.training.errors import RecipeError
from degreespar.training.sparsify import SparsifySettings

ADAPT, SPARSIFY, FINISH = "adapt", "sparsify", "finish"
KINDS = (ADAPT, SPARSIFY, FINISH)
PRICES = ("paper", "uniform", "measured")


@dataclass(frozen=True)
class Stage:
    """One stretch of training.

    `adapt` trains weights at the start's degrees, `sparsify` weights and degrees, `finish` weights under
    the policy of the last valid checkpoint. `examples` is how many make an epoch; None is all of them.
    """

    kind: str
    epochs: int
    learning_rate: float
    batch: int = 48
    weight_decay: float = 0.01
    final_rate: float = 0.1
    warmup: float = 0.02
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    distill: float = 0.0
    examples: int | None = None
    checks_per_epoch: int = 1
    awareness: Awareness = field(default_factory=Awareness)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RecipeError(f"a stage's kind is one of {', '.join(KINDS)}, not {self.kind!r}")
        if self.epochs < 0 or self.batch < 1 or self.checks_per_epoch < 1 or self.learning_rate <= 0:
            raise RecipeError(
                "a stage needs epochs >= 0, batch >= 1, checks_per_epoch >= 1 and a learning rate above 0"
            )
        if not 0.0 <= self.distill <= 1.0:
            raise RecipeError(f"distill is a share in 0..1, not {self.distill}")

    def rate(self, done: float) -> float:
        """The learning rate at `done` (0..1) of the stage: linear warm-up, then a cosine to `final_rate`."""
        if done < self.warmup:
            return self.learning_rate * done / self.warmup
        cosine = 0.5 * (1.0 + math.cos(math.pi * (done - self.warmup) / (1.0 - self.warmup)))
        return self.learning_rate * (self.final_rate + (1.0 - self.final_rate) * cosine)

    def checks(self, steps: int) -> frozenset[int]:
        """After which steps of an epoch hold-out accuracy is measured; the last is one of them."""
        parts = range(1, self.checks_per_epoch + 1)
        return frozenset(max(1, round(steps * part / self.checks_per_epoch)) for part in parts)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a run, apart from the model and the data.

    `tolerance_points` is how far hold-out accuracy may fall below the uncompressed model's; after
    `patience` checks in a row below that, sparsifying stops. With `public_table` a BERT's tables of words and
    segments are not trained, and the artifact hands them to clients.
    """

    stages: tuple[Stage, ...]
    start_squarings: int = 2
    start_order: int = 2
    squarings: tuple[int, ...] = (-1, 0, 1, 2)
    orders: tuple[int, ...] = (0, 1, 2)
    ranges: int = 8
    transition_layer: float = 4.0
    sparsify: SparsifySettings = field(default_factory=SparsifySettings)
    steps_per_price: int = 10
    tolerance_points: float = 1.0
    patience: int = 1
    held_out: int = 5000
    split_seed: int = 2026
    calibration: int = 2000
    check_batch: int = 500
    public_table: bool = False

    def __post_init__(self) -> None:
        if self.start_squarings not in self.squarings or self.start_order not in self.orders:
            raise RecipeError("the start's degrees must stand on the ladders")
        if self.steps_per_price < 1 or self.patience < 1 or self.tolerance_points < 0:
            raise RecipeError("steps_per_price and patience are at least 1, tolerance_points at least 0")

    def to_json(self) -> dict[str, object]:
        """The recipe as JSON."""
        return asdict(self)


def load_recipe(name: str, changes: Mapping[str, object]) -> Recipe:
    """A recipe of the package by name, or a JSON file by path; `changes` by dotted names go on top."""
    path = Path(name)
    packaged = files("degreespar.training") / "recipes" / f"{name}.json"
    try:
        text = path.read_text("utf-8") if path.suffix == ".json" else packaged.read_text("utf-8")
        value = json.loads(text)
    except FileNotFoundError as error:
        raise RecipeError(f"there is no recipe {name!r}: give vit, bert or a JSON file") from error
    except (OSError, ValueError) as error:
        raise RecipeError(f"the recipe {name} cannot be read as JSON") from error
    recipe: Recipe = read(Recipe, value, "recipe")
    for place, change in changes.items():
        recipe = changed(recipe, place.split("."), change, place)
    return recipe


def changed(value: Any, path: list[str], change: object, where: str) -> Any:
    """A copy of a dataclass, or of a tuple of them, with one place in it set."""
    name, rest = path[0], path[1:]
    if isinstance(value, tuple) and name.isdigit() and int(name) < len(value):
        number = int(name)
        new = changed(value[number], rest, change, where)
        return (*value[:number], new, *value[number + 1 :])
    if not is_dataclass(value) or name not in {item.name for item in fields(value)}:
        raise RecipeError(f"the recipe has nothing called {where!r}")
    if rest:
        return replace(value, **{name: changed(getattr(value, name), rest, change, where)})  # type: ignore[type-var]
    hint = get_type_hints(type(value))[name]
    return replace(value, **{name: _converted(hint, change, where)})  # type: ignore[type-var]


def read(kind: type[Any], value: object, where: str) -> Any:
    """A dataclass from JSON: no unknown names, no missing ones, types as declared."""
    if not isinstance(value, dict):
        raise RecipeError(f"{where} must be an object")
    known = {item.name: item for item in fields(kind)}
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise RecipeError(f"{where} has nothing called {unknown[0]!r}")
    for name, item in known.items():
        if name not in value and item.default is MISSING and item.default_factory is MISSING:
            raise RecipeError(f"{where} lacks {name!r}")
    hints = get_type_hints(kind)
    parts = {name: _converted(hints[name], part, f"{where}.{name}") for name, part in value.items()}
    return kind(**parts)


def _converted(hint: Any, value: object, where: str) -> object:
    options = get_args(hint)
    if get_origin(hint) is dict:
        if not isinstance(value, dict):
            raise RecipeError(f"{where} must be an object")
        return {name: _converted(options[1], part, f"{where}.{name}") for name, part in value.items()}
    if hint is object:
        return value
    if type(None) in options:
        rest = next(option for option in options if option is not type(None))
        return None if value is None else _converted(rest, value, where)
    if is_dataclass(hint) and isinstance(hint, type):
        return read(hint, value, where)
    if options and isinstance(value, list | tuple):
        return tuple(_converted(options[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if hint is float and type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise RecipeError(f"{where} cannot be {value!r}")
