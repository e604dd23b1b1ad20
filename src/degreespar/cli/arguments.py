"""Options that several commands share."""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.bench.networks import NETWORKS
from degreespar.party.pace import WINDOWS_HELD, Mode

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def new_command(commands: "Commands", name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """A sub-command with `--json` and an example in its help."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    return parser


def add_model(parser: argparse.ArgumentParser, what: str) -> None:
    """--model."""
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help=what)


def add_peer(parser: argparse.ArgumentParser) -> None:
    """Who this party is, whom it trusts and how long it waits."""
    parser.add_argument(
        "--identity", type=Path, required=True, metavar="DIR", help="folder made by `degreespar keys`"
    )
    parser.add_argument(
        "--trust",
        type=Path,
        required=True,
        action="append",
        metavar="FILE",
        help="certificate of a peer to trust (again for several)",
    )
    parser.add_argument(
        "--deadline",
        type=positive_seconds,
        default=60.0,
        metavar="SECONDS",
        help="longest wait for a message of the peer (default: 60)",
    )


def add_mode(parser: argparse.ArgumentParser) -> None:
    """--mode and --windows."""
    parser.add_argument(
        "--mode",
        type=Mode,
        choices=tuple(Mode),
        default=Mode.OVERLAP,
        metavar="{" + ",".join(mode.value for mode in Mode) + "}",
        help="prepare all parts of the model before an answer, the next parts beside it (default), or each"
        " part when it begins",
    )
    parser.add_argument(
        "--windows",
        type=positive_count,
        default=WINDOWS_HELD,
        metavar="N",
        help=f"parts held prepared at once with --mode overlap, a matter of memory (default: {WINDOWS_HELD})",
    )


def add_ends(parser: argparse.ArgumentParser) -> None:
    """Which end of a measurement between two machines this is; neither: both, as processes here."""
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--listen", metavar="HOST:PORT", help="be the server of one measurement")
    ends.add_argument("--server", metavar="HOST:PORT", help="be the client of a server that listens")
    ends.add_argument(
        "--network",
        choices=list(NETWORKS),
        default="none",
        help="between two processes here, emulated at the IP layer (root); default: none",
    )


def add_row(parser: argparse.ArgumentParser, kind: str) -> None:
    """--row and --results."""
    parser.add_argument("--row", action="store_true", help=f"append the figures to {kind}.jsonl")
    add_results(parser)


def add_results(parser: argparse.ArgumentParser) -> None:
    """--results."""
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="folder of the rows"
    )


def positive_seconds(text: str) -> float:
    """A finite time above zero."""
    value = float(text)
    if not (math.isfinite(value) and 0 < value <= 1e6):
        raise argparse.ArgumentTypeError(f"{text} is no positive number of seconds")
    return value


def positive_count(text: str) -> int:
    """A whole number above zero."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no positive number")
    return value
