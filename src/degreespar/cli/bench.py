"""`degreespar bench`: measures this machine, and others beside us on it."""

import argparse
from typing import TYPE_CHECKING

from degreespar.cli import bench_answers, bench_engine, bench_layer, bench_ot, bench_selection

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command and what can be measured."""
    parser = commands.add_parser(
        "bench",
        help="measure primitives, layers and models on this machine and append rows to the results",
        description="Measure primitives, layers and models on this machine and append rows to the results.",
        epilog="example:\n  degreespar bench layer --geometry vit-s --network wan2\n"
        "every kind of bench takes --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(required=True, metavar="WHAT")
    bench_engine.add(kinds)
    bench_ot.add(kinds)
    bench_layer.add_layer(kinds)
    bench_layer.add_model(kinds)
    bench_selection.add(kinds)
    bench_answers.add(kinds)
