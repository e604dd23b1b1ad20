"""`degreespar price`: measures what work costs on this pair of machines."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.bench.networks import network_named
from degreespar.bench.price_run import ask, on_this_machine, serve
from degreespar.bench.rows import Row, append, measured
from degreespar.cli.arguments import add_ends, add_row, new_command, positive_seconds
from degreespar.cli.console import Console
from degreespar.cli.interruptible import interruptible
from degreespar.degree.errors import PriceError
from degreespar.degree.price_table import PriceTable, read_prices, write_prices
from degreespar.party.keys import load_identity, load_trusted

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "price",
        "measure what each unit of work costs on two machines, or on this one, and write a price table",
        "degreespar price --out prices.json\n"
        "  degreespar price --listen 0.0.0.0:7700 --identity hospital --trust clinic.crt   (one machine)\n"
        "  degreespar price --server HOST:7700 --identity clinic --trust hospital.crt --out prices.json",
    )
    add_ends(parser)
    parser.add_argument("--out", type=Path, default=Path("prices.json"), metavar="FILE")
    add_row(parser, "price")
    parser.add_argument("--line", default="measured", metavar="NAME", help="what to call the line")
    parser.add_argument("--identity", type=Path, metavar="DIR", help="folder made by `degreespar keys`")
    parser.add_argument("--trust", type=Path, action="append", metavar="FILE", help="the peer's certificate")
    parser.add_argument(
        "--deadline", type=positive_seconds, default=120.0, metavar="SECONDS", help="default: 120"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """One end of a measurement, or both here."""
    if not (options.listen or options.server):
        on_this_machine(network_named(options.network), options.out, options.deadline, console.say)
        table = read_prices(options.out)
    else:
        table_or_none = _one_end(options, console)
        if table_or_none is None:
            console.result({"measured": True}, "prices measured; the client has the table")
            return
        table = table_or_none
        write_prices(table, options.out)
    if options.row:
        console.say(f"row added to {append(_row(table), options.results)}")
    facts = {"file": str(options.out), "line": table.line.name, "commit": table.commit}
    console.result(facts, _text(table, options.out))


def _row(table: PriceTable) -> Row:
    config = {"server": table.server, "client": table.client, "line": asdict(table.line)}
    metrics = {
        "cpu_s": {
            phase: {unit: price.cpu_s for unit, price in units.items()}
            for phase, units in (("prepare", table.prepare), ("answer", table.answer))
        },
        "busy_cores": dict(table.busy_cores),
        "flip_s": table.flip_s,
    }
    return measured("price", f"line {table.line.name}", config, metrics, network=table.line.name)


def _one_end(options: argparse.Namespace, console: Console) -> PriceTable | None:
    if options.identity is None or options.trust is None:
        raise PriceError("two machines need --identity and --trust, made by `degreespar keys`")
    who = load_identity(options.identity), load_trusted(options.trust), options.deadline
    if options.server:
        return interruptible(lambda: ask(options.server, *who, options.line, console.say))
    interruptible(lambda: serve(options.listen, *who, console.say))
    return None


def _text(table: PriceTable, out: Path) -> str:
    lines = [f"{'phase':<9}{'unit':<36}{'server ns':>14}{'client ns':>14}"]
    for phase, units in (("prepare", table.prepare), ("answer", table.answer)):
        for unit, price in units.items():
            server_ns, client_ns = 1e9 * price.server_cpu_s, 1e9 * price.client_cpu_s
            lines.append(f"{phase:<9}{unit:<36}{server_ns:>14,.2f}{client_ns:>14,.2f}")
    cores = ", ".join(f"{stage} {busy:.2f}" for stage, busy in table.busy_cores.items())
    return "\n".join(
        [*lines, f"cores kept busy: {cores}; a flip {1e6 * table.flip_s:.0f} us", f"written to {out}"]
    )
