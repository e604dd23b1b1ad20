"""`degreespar report`: figures of what was measured."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.cli.arguments import new_command
from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.party.profile import read_profile

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command and what can be reported."""
    parser = commands.add_parser(
        "report",
        help="draw figures of what was measured",
        description="Draw figures of what was measured (extra: report).",
        epilog="example:\n  degreespar report profile profile.json --out profile.html\n"
        "every kind of report takes --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_profile(parser.add_subparsers(required=True, metavar="WHAT"))


def add_profile(commands: "Commands") -> None:
    """Declares `report profile`."""
    parser = new_command(
        commands,
        "profile",
        "draw a run's cost as stacked bars, layer by layer and kind by kind",
        "degreespar report profile profile.json --out profile.svg --of answer",
    )
    parser.add_argument(
        "profile", type=Path, metavar="FILE.json", help="made by `degreespar classify --profile`"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.png|.svg|.html")
    parser.add_argument(
        "--of", choices=("total", "prepare", "answer"), default="total", help="in .png and .svg"
    )
    parser.add_argument(
        "--measure", choices=("seconds", "bytes", "flips"), default="seconds", help="likewise"
    )
    parser.set_defaults(run=run_profile)


def run_profile(options: argparse.Namespace, console: Console) -> None:
    """One figure, or with .html all of them on one page."""
    profile = read_profile(options.profile)
    with extra("report", "drawing figures"):
        from degreespar.report.page import Section, write
        from degreespar.report.profile import profile_figure, profile_sections
    if options.out.suffix == ".html":
        sections = profile_sections(profile)
    else:
        sections = [Section("", figures=[profile_figure(profile, options.measure, options.of)])]
    write(options.out, f"Profile of {profile.model}", sections)
    console.result({"file": str(options.out)}, f"written to {options.out}")
