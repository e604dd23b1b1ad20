"""`degreespar`: the command line's door."""

import argparse
import os
import sys
from collections.abc import Sequence

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
)
from degreespar.cli.console import Console
from degreespar.cli.interruptible import interruptible
from degreespar.errors import DegreeSparError

FAILED, INTERRUPTED = 2, 130
COMMANDS = (keys, compress, export, info, serve, classify, simulate, estimate, price, bench, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; a failure that a user can cause is one sentence and exit code 2."""
    options = _parser().parse_args(arguments)
    console = Console(options.json)
    try:
        interruptible(lambda: options.run(options, console))
    except (DegreeSparError, NativeError) as error:
        console.say(f"degreespar: {error}")
        return FAILED
    except KeyboardInterrupt:
        console.say("degreespar: interrupted")
        sys.stdout.flush()
        # The command's thread may sit in a wait of the native core: no orderly exit would get past it.
        os._exit(INTERRUPTED)
    return 0


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
