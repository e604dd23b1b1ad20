"""`degreespar keys`: makes a party's identity."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.cli.arguments import new_command
from degreespar.cli.console import Console
from degreespar.party.keys import CERTIFICATE_FILE, make_identity

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "keys",
        "make a certificate and its private key for one party",
        "degreespar keys hospital --name hospital",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="new folder of the identity")
    parser.add_argument("--name", default="degreespar", help="name in the certificate")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Makes the identity and says what to do with it."""
    fingerprint = make_identity(options.folder, options.name)
    certificate = options.folder / CERTIFICATE_FILE
    console.result(
        {"certificate": str(certificate), "fingerprint": fingerprint},
        f"fingerprint {fingerprint}\ngive {certificate} to your peer, and keep the rest of the folder",
    )
