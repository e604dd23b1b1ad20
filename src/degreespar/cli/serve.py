"""`degreespar serve`: answers clients with a private model."""

import argparse
from dataclasses import asdict
from threading import Event
from typing import TYPE_CHECKING

from degreespar.cli.arguments import add_model, add_peer, new_command, positive_count, positive_seconds
from degreespar.cli.console import Console
from degreespar.cli.interruptible import interruptible
from degreespar.party.errors import PartyError
from degreespar.party.keys import load_identity, load_trusted
from degreespar.party.pace import MAX_WINDOWS_HELD
from degreespar.party.server import LISTENING, Limits, ServerModel, open_door, serve

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "serve",
        "answer one client after another with a model whose weights stay here",
        "degreespar serve --model model --listen 0.0.0.0:7700 --identity hospital --trust clinic.crt",
    )
    add_model(parser, "artifact with the server's weights")
    parser.add_argument(
        "--listen", default="127.0.0.1:7700", metavar="HOST:PORT", help="port 0: any free one"
    )
    add_peer(parser)
    parser.add_argument("--max-clients", type=positive_count, metavar="N", help="stop after so many clients")
    parser.add_argument(
        "--windows",
        type=positive_count,
        default=MAX_WINDOWS_HELD,
        metavar="N",
        help="most parts of the model that a client may have this server hold prepared (bounds memory)",
    )
    parser.add_argument(
        "--idle",
        type=positive_seconds,
        metavar="SECONDS",
        help="longest wait for a client to begin its next answer (default: that of --deadline)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Serves until it is stopped."""
    model = ServerModel.load(options.model)
    identity, trusted = load_identity(options.identity), load_trusted(options.trust)
    listener = open_door(options.listen, identity, trusted)
    console.say(f"{LISTENING}{listener.address}")
    limits = Limits(
        deadline_s=options.deadline,
        windows_held=options.windows,
        idle_s=options.idle,
        clients=options.max_clients,
    )
    tally = interruptible(lambda: serve(listener, model, limits, Event(), console.say))
    console.result(
        {"model": model.public.name, "artifact": model.digest, **asdict(tally)},
        f"{tally.served} clients served, {tally.failed} failed, {tally.answers} answers given",
    )
    if tally.failed:
        raise PartyError(f"{tally.failed} of {tally.clients} clients failed")
