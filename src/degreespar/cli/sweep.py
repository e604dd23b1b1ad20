"""`degreespar sweep`: many runs from one file, a row for each."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.cli.arguments import add_row, new_command
from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.cli.sessions import add_session, append_row, run_session, session_of

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "sweep",
        "run a compression for every point and seed of a file: ablations and fronts",
        "degreespar sweep lambda-grp --model demo/checkpoint --data fashion-mnist --out sweep --row\n\n"
        "Finished runs are not run again, and one that was cut short continues: give the same command.",
    )
    parser.add_argument(
        "sweep", metavar="SWEEP", help="ablation, lambda-grp, transition, prices, seeds or a JSON file"
    )
    add_session(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder for the runs")
    add_row(parser, "the sweep's kind")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Point by point, seed by seed."""
    with extra("train", "sweep"):
        from degreespar.training.sweep import load_sweep, runs_of
    sweep = load_sweep(options.sweep)
    lines: list[str] = []
    facts: list[dict[str, object]] = []
    for part in runs_of(sweep, session_of(options, options.out, seed=0)):
        console.say(f"== {part.row}")
        outcome = run_session(part.session, console)
        if not outcome.first:
            continue
        if options.row:
            append_row(sweep.kind, part.row, outcome, part.session.seed, options.results)
        figures = outcome.figures
        facts.append({"name": part.row, **figures})
        lines.append(
            f"{part.row}: test {figures['test_accuracy']:.2%}, {figures['times_cheaper']:.2f} times cheaper"
        )
    console.result({"runs": facts}, "\n".join(lines))
