"""`degreespar bench selection`: token selection alone, by both protocols, between two processes."""

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.bench.namespaces import joined
from degreespar.bench.networks import network_named
from degreespar.bench.rows import append, measured
from degreespar.bench.selection import Costs, Shape, ask, metrics, on_this_machine, serve
from degreespar.cli.arguments import add_ends, add_results, new_command, positive_count, positive_seconds
from degreespar.cli.console import Console
from degreespar.degree import METHODS
from degreespar.errors import DegreeSparError
from degreespar.party.keys import load_identity, load_trusted

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

HEADER = f"{'protocol':<10}{'phase':<9}{'seconds':>9}{'MB down':>9}{'MB up':>8}{'flips':>7}"


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "selection",
        "measure oblivious token selection alone: scoring, ranking and routing, by both protocols",
        "degreespar bench selection --tokens 197 --keep 128 --width 384 --network wan2",
    )
    parser.add_argument("--tokens", type=positive_count, default=197, metavar="N", help="default: 197")
    parser.add_argument("--keep", type=positive_count, default=128, metavar="K", help="default: 128")
    parser.add_argument(
        "--ranges", type=positive_count, nargs="+", metavar="SIZE", help="their sizes (default: one of K - 1)"
    )
    parser.add_argument("--width", type=positive_count, default=384, metavar="D", help="default: 384")
    parser.add_argument("--heads", type=positive_count, default=6, metavar="H", help="default: 6")
    parser.add_argument("--repeats", type=positive_count, default=3, metavar="N", help="default: 3")
    add_ends(parser)
    parser.add_argument("--identity", type=Path, metavar="DIR", help="folder made by `degreespar keys`")
    parser.add_argument("--trust", type=Path, action="append", metavar="FILE", help="the peer's certificate")
    parser.add_argument("--deadline", type=positive_seconds, default=120.0, metavar="SECONDS")
    parser.add_argument("--no-row", action="store_true", help="print only")
    add_results(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Both ends here, or one of two."""
    ranges = tuple(options.ranges or (options.keep - 1,))
    if sum(ranges) != options.keep - 1:
        raise DegreeSparError(f"ranges of {sum(ranges)} tokens and [CLS] are not {options.keep} kept tokens")
    shape = Shape(options.tokens, ranges, options.width, options.heads)
    if options.listen or options.server:
        own = {str(method): metrics(runs) for method, runs in _one_end(options, shape, console).items()}
        console.result(own, _text(own))
        return
    words = ["bench", "selection", "--tokens", str(shape.tokens), "--keep", str(options.keep)]
    words += ["--width", str(shape.width), "--heads", str(shape.heads), "--repeats", str(options.repeats)]
    words += ["--ranges", *map(str, ranges)]
    with (
        tempfile.TemporaryDirectory(prefix="degreespar-selection-") as folder,
        joined(network_named(options.network)) as places,
    ):
        found = on_this_machine(places, Path(folder), words, options.deadline, console.say)
    if not options.no_row:
        _add_rows(options, ranges, found, console)
    console.result({"network": options.network, "metrics": found}, _text(found))


def _one_end(options: argparse.Namespace, shape: Shape, console: Console) -> Costs:
    if options.identity is None or options.trust is None:
        raise DegreeSparError("two machines need --identity and --trust, made by `degreespar keys`")
    who = load_identity(options.identity), load_trusted(options.trust), options.deadline
    if options.server:
        return ask(options.server, *who, shape, options.repeats)
    return serve(options.listen, *who, shape, options.repeats, console.say)


def _add_rows(
    options: argparse.Namespace,
    ranges: tuple[int, ...],
    found: dict[str, dict[str, object]],
    console: Console,
) -> None:
    for method in METHODS:
        config = {
            "method": method,
            "tokens": options.tokens,
            "ranges": list(ranges),
            "width": options.width,
            "heads": options.heads,
            "both_parties_on_one_machine": True,
        }
        name = f"{method} {options.tokens} to {options.keep} tokens, width {options.width} {options.network}"
        row = measured("selection", name, config, found[method], network=options.network)
        console.say(f"row added to {append(row, options.results)}")


def _text(found: dict[str, dict[str, object]]) -> str:
    lines = [HEADER]
    for method, metrics_ in found.items():
        for phase in ("prepare", "answer"):
            seconds, down, up, flips = (
                float(str(metrics_[f"{phase}_{key}"]))
                for key in ("seconds", "to_client_bytes", "to_server_bytes", "flips")
            )
            lines.append(
                f"{method:<10}{phase:<9}{seconds:>9.3f}{down / 1e6:>9.2f}{up / 1e6:>8.2f}{flips:>7.0f}"
            )
        lines.append(f"{method:<10}{'total':<9}{float(str(metrics_['total_seconds'])):>9.3f}")
    return "\n".join(lines)
