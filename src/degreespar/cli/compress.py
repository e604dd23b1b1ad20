"""`degreespar compress`: from a trained classifier to a run with a learned policy."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from degreespar.bench.rows import append, measured
from degreespar.cli.arguments import add_row, new_command
from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.errors import DegreeSparError

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands
    from degreespar.training.progress import Progress

KIND = "train.final"


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "compress",
        "learn how low a classifier's degrees can go, and what falls away with them",
        "degreespar compress --model demo/checkpoint --data fashion-mnist --recipe vit-demo --out run\n\n"
        "A run that was cut short continues where it was if the same command is given again. Several\n"
        "processes or GPUs: torchrun --nproc-per-node 2 -m degreespar.cli.main compress ...",
    )
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help="Hugging Face folder")
    parser.add_argument("--data", required=True, metavar="NAME", help="fashion-mnist")
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
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="the run's folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--adapted",
        type=Path,
        metavar="DIR",
        help="begin with these weights of the same model, already adapted",
    )
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--name", help="of the row (default: the run folder's name)")
    add_row(parser, KIND)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Opens model and data, runs the recipe, finishes."""
    with extra("train", "compress"):
        from degreespar.training.session import Session, compress
    session = Session(
        model=options.model,
        data=options.data,
        data_folder=options.data_folder,
        recipe=options.recipe,
        changes=_changes(options.set),
        prices=options.prices,
        price_table=options.price_table,
        out=options.out,
        adapted=options.adapted,
        seed=options.seed,
        compiled=options.compile,
    )
    outcome = compress(session, console.say, lambda progress: console.say(_line(progress)))
    if not outcome.first:
        return
    if options.row:
        name, config = options.name or options.out.name, outcome.config
        row = measured(KIND, name, config, outcome.figures, seed=options.seed, gpu=outcome.gpu)
        append(row, options.results)
    console.result({"run": str(options.out), **outcome.figures}, _text(options.out, outcome.figures))


def _changes(pairs: list[str]) -> dict[str, object]:
    changes: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            changes[name] = json.loads(text)
        except ValueError as error:
            raise DegreeSparError(
                f"--set {pair}: the value is no JSON value such as 3, 1e-4 or true"
            ) from error
        if not equals:
            raise DegreeSparError(f"--set {pair} has no =")
    return changes


def _line(progress: "Progress") -> str:
    left = f"{progress.left_s / 60:.1f} min left in this stage"
    return (
        f"{progress.stage} {progress.epoch}/{progress.epochs}, step {progress.step}/{progress.steps}: "
        f"loss {progress.loss:.3f}, cost {progress.cost_ratio:.3f} of uncompressed, {left}"
    )


def _text(out: Path, figures: dict[str, Any]) -> str:
    before, after = figures["uncompressed_s"], figures["compressed_s"]
    accuracies = figures["test_accuracy"], figures["uncompressed_test_accuracy"]
    return "\n".join(
        [
            f"run       {out}",
            f"test      {accuracies[0]:.2%} (uncompressed {accuracies[1]:.2%})",
            f"cost      {before / after:.2f} times lower: {before:.3f} s predicted before, {after:.3f} s now",
            f"tokens    {figures['tokens']}",
            f"FFN       {figures['dimensions']}",
        ]
    )
