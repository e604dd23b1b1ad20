"""`degreespar compress`: from a trained classifier to a run with a learned policy."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from degreespar.cli.arguments import add_row, new_command
from degreespar.cli.console import Console
from degreespar.cli.sessions import add_session, append_row, run_session, session_of

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

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
    add_session(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="the run's folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", help="of the row (default: the run folder's name)")
    add_row(parser, KIND)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Opens model and data, runs the recipe, finishes."""
    outcome = run_session(session_of(options, options.out, options.seed), console)
    if not outcome.first:
        return
    if options.row:
        append_row(KIND, options.name or options.out.name, outcome, options.seed, options.results)
    console.result({"run": str(options.out), **outcome.figures}, _text(options.out, outcome.figures))


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
