"""Measures the price list of two machines, or of two processes on this one."""

import tempfile
from pathlib import Path

from degreespar._native import Connection, Identity, Listener
from degreespar.bench.namespaces import joined
from degreespar.bench.networks import Network
from degreespar.bench.policy_prices import with_policy_prices
from degreespar.bench.price_cases import price_cases
from degreespar.bench.price_fit import price_table
from degreespar.bench.price_party import PriceRunError, ask_prices, serve_prices
from degreespar.bench.processes import Say, TwoProcesses
from degreespar.degree.price_table import PriceTable
from degreespar.party.client import dial
from degreespar.party.native import native_errors
from degreespar.party.server import LISTENING, open_door

WAIT_S = 600.0
REPEATS = 3


def serve(address: str, identity: Identity, trusted: list[str], deadline_s: float, say: Say) -> None:
    """The server's part, for one client."""
    listener = open_door(address, identity, trusted)
    say(f"{LISTENING}{listener.address}")
    control, session_end = (_accepted(listener, deadline_s) for _ in range(2))
    serve_prices(control, session_end, price_cases())


def ask(
    address: str, identity: Identity, trusted: list[str], deadline_s: float, line_name: str, say: Say
) -> PriceTable:
    """The client's part: the table."""
    control, session_end = (dial(address, identity, trusted, deadline_s) for _ in range(2))
    cases = price_cases()
    readings = ask_prices(control, session_end, cases, REPEATS, line_name, say)
    return with_policy_prices(price_table(cases, REPEATS, readings))


def on_this_machine(network: Network, out: Path, deadline_s: float, say: Say) -> None:
    """Both parts as two processes over an emulated network; the client's writes `out`."""
    with tempfile.TemporaryDirectory(prefix="degreespar-price-") as folder, joined(network) as places:
        pair = TwoProcesses(Path(folder), say, *places, deadline_s)
        ask_words = ["price", "--line", network.name, "--out", str(out.resolve())]
        pair.run(["price"], ask_words)


def _accepted(listener: Listener, deadline_s: float) -> Connection:
    with native_errors():
        connection = listener.accept(WAIT_S, deadline_s)
        if connection is None:
            raise PriceRunError(f"no client came within {WAIT_S:.0f} s")
        connection.set_deadline(deadline_s)
    return connection
