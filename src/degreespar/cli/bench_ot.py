"""`degreespar bench ot`: random OTs."""

import argparse
from typing import TYPE_CHECKING

from degreespar.bench import cases as made
from degreespar.bench.primitives import Result, measure
from degreespar.bench.rows import append, check_folder, measured
from degreespar.cli.arguments import add_results, new_command, positive_count
from degreespar.cli.console import Console

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

KIND = "engine.primitive"
NAME = "random OT"
BITS = 64
PER_ELEMENT = 2
"""A multiplexer takes one random OT in each direction."""


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "ot",
        "measure random OTs in bulk: made, hashed and stored, both directions, over a connection in memory",
        "degreespar bench ot --no-row",
    )
    parser.add_argument("--count", type=positive_count, default=1 << 22, help="default: 4194304")
    parser.add_argument("--no-row", action="store_true", help="print only")
    add_results(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Processor time of both parties together is what one core would take for both."""
    if not options.no_row:
        check_folder(options.results)
    result = measure(made.mux(BITS, max(1, options.count // PER_ELEMENT)))
    metrics = _metrics(result)
    config = {"elements": PER_ELEMENT * result.case.elements, "bits": BITS}
    if not options.no_row:
        append(
            measured(KIND, NAME, config, {**result.metrics(), **metrics}, network="memory"), options.results
        )
    text = f"{metrics['cpu_ns_per_ot']:.1f} ns of one core for both parties, {metrics['bytes_per_ot']:.2f} B"
    console.result({"config": config, "metrics": metrics}, f"a random OT: {text}")


def _metrics(result: Result) -> dict[str, float]:
    count = PER_ELEMENT * result.case.elements
    wall = result.prepare.wall
    return {
        "cpu_ns_per_ot": 1e9 * result.prepare.cpu_s / count,
        "wall_ns_per_ot": 1e9 * wall.seconds / count,
        "bytes_per_ot": (wall.to_client_bytes + wall.to_server_bytes) / count,
    }
