"""`degreespar bench engine`: every primitive."""

import argparse
from typing import TYPE_CHECKING

from degreespar.bench.cases import Case
from degreespar.bench.primitives import Result, cases, measure
from degreespar.bench.rows import append, check_folder, measured
from degreespar.cli.arguments import add_results, new_command, positive_count
from degreespar.cli.console import Console

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

KIND = "engine.primitive"
HEADER = (
    f"{'primitive':<20}{'bits':>5}{'elements':>10}{'prepare ns':>12}{'answer ns':>11}{'MB':>8}{'flips':>7}"
)


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "engine",
        "measure every primitive on this machine, over a connection in memory",
        "degreespar bench engine --no-row",
    )
    parser.add_argument("--elements", type=positive_count, default=1 << 18, help="default: 262144")
    parser.add_argument("--no-row", action="store_true", help="print only")
    add_results(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Case by case; ns are processor time of both parties per element."""
    if not options.no_row:
        check_folder(options.results)
    facts, lines = [], [HEADER]
    for case in cases(options.elements):
        result = measure(case)
        name = _name(case)
        config = {"bits": case.bits, "elements": case.elements, **case.config}
        facts.append({"name": name, "config": config, "metrics": result.metrics()})
        lines.append(_line(result))
        console.say(lines[-1])
        if not options.no_row:
            append(measured(KIND, name, config, result.metrics(), network="memory"), options.results)
    console.result({"primitives": facts}, "\n".join(lines))


def _name(case: Case) -> str:
    """Tells any two cases apart: documents show the newest row of each name."""
    thresholds = case.config.get("thresholds")
    sizes = [
        str(case.config[key]) for key in ("batch", "rows", "inner", "width", "cols") if key in case.config
    ]
    shape = f", {'x'.join(sizes)}" if sizes else ""
    return f"{case.name} {case.bits} bits{shape}" + (f", {thresholds} thresholds" if thresholds else "")


def _line(result: Result) -> str:
    case, made, used = result.case, result.prepare, result.answer
    scale = 1e9 / case.elements
    sent = sum(phase.wall.to_client_bytes + phase.wall.to_server_bytes for phase in (made, used))
    what = f"{case.name:<20}{case.bits:>5}{case.elements:>10}"
    times = f"{made.cpu_s * scale:>12.1f}{used.cpu_s * scale:>11.1f}"
    return f"{what}{times}{sent / 1e6:>8.2f}{used.wall.flips:>7}"
