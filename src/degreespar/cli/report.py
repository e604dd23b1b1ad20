"""`degreespar report`: figures of what was measured or learned."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.cli.arguments import new_command
from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.errors import DegreeSparError
from degreespar.party.profile import read_profile

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "report",
        "draw a compression run, or the profile of a private answer (extra: report)",
        "degreespar report run --html run.html --png figures\n"
        "  degreespar report profile.json --out profile.svg --of answer",
    )
    parser.add_argument(
        "path",
        type=Path,
        metavar="RUN|FILE.json",
        help="folder of `degreespar compress`, or a profile made by `degreespar classify --profile`",
    )
    run_options = parser.add_argument_group("of a run")
    run_options.add_argument("--html", type=Path, metavar="FILE", help="one page that needs no other file")
    run_options.add_argument("--png", type=Path, metavar="DIR", help="every figure as a picture")
    profile_options = parser.add_argument_group("of a profile")
    profile_options.add_argument("--out", type=Path, metavar="FILE.png|.svg|.html")
    profile_options.add_argument(
        "--of", choices=("total", "prepare", "answer"), default="total", help="in .png and .svg"
    )
    profile_options.add_argument(
        "--measure", choices=("seconds", "bytes", "flips"), default="seconds", help="likewise"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """A folder is a run, a file a profile."""
    if options.path.is_dir():
        run_run(options, console)
    else:
        run_profile(options, console)


def run_run(options: argparse.Namespace, console: Console) -> None:
    """The page, the pictures, or both."""
    if not (options.html or options.png):
        raise DegreeSparError("say what to write of the run: --html FILE, --png DIR or both")
    with extra("report", "drawing figures"):
        from degreespar.report.page import write, write_pictures
        from degreespar.report.runs import RunFiles, run_sections
    files = RunFiles.read(options.path)
    sections = run_sections(files)
    written: list[Path] = []
    if options.html:
        write(options.html, f"Compression run {options.path.resolve().name}", sections)
        written.append(options.html)
    if options.png:
        written += write_pictures(options.png, sections)
    facts = {"written": [str(path) for path in written], "finished": files.figures is not None}
    console.result(facts, "\n".join(map(str, written)))


def run_profile(options: argparse.Namespace, console: Console) -> None:
    """One figure, or with .html all of them on one page."""
    if not options.out:
        raise DegreeSparError("say where to write the profile's figures: --out FILE")
    profile = read_profile(options.path)
    with extra("report", "drawing figures"):
        from degreespar.report.page import Section, write
        from degreespar.report.profile import profile_figure, profile_sections
    if options.out.suffix == ".html":
        sections = profile_sections(profile)
    else:
        sections = [Section("", figures=[profile_figure(profile, options.measure, options.of)])]
    write(options.out, f"Profile of {profile.model}", sections)
    console.result({"file": str(options.out)}, f"written to {options.out}")
