"""`degreespar`: the command line's door."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from degreespar import __version__
from degreespar._native import NativeError
from degreespar.cli import (
    bench,
    classify,
    compress,
    estimate,
    export,
    info,
    keys,
    price,
    report,
    serve,
    simulate,
    sweep,
)
from degreespar.cli.console import Console
from degreespar.errors import DegreeSparError

FAILED, INTERRUPTED = 2, 130
COMMANDS = (keys, compress, sweep, export, info, serve, classify, simulate, estimate, price, bench, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; a failure that a user can cause is one sentence and exit code 2."""
    options = _parser().parse_args(arguments)
    console = Console(options.json)
    try:
        options.run(options, console)
    except (DegreeSparError, NativeError) as error:
        return _failed(console, str(error))
    except OSError as error:
        # What no part has put into words of its own: no room for a temporary file, no process to start.
        where = f"{error.filename}: " if error.filename else ""
        return _failed(console, f"the system refuses: {where}{error.strerror or type(error).__name__}")
    except MemoryError:
        return _failed(console, "there is not enough memory")
    except KeyboardInterrupt:
        console.say("degreespar: interrupted")
        sys.stdout.flush()
        # The command's thread may sit in a wait of the native core: no orderly exit would get past it.
        os._exit(INTERRUPTED)
    return 0


def _failed(console: Console, sentence: str) -> int:
    # Where stderr itself is gone, the exit code is all that is left to say.
    with suppress(OSError):
        console.say(f"degreespar: {sentence}")
    return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="degreespar",
        description="Private Transformer inference between two parties.",
        epilog="example:\n  degreespar info demo/model",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"degreespar {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
