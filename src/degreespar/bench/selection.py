"""Selection alone, as a layer runs it: scoring, ranking and routing, by each protocol, between two processes.

The inputs are random shares: what it takes does not depend on values.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from degreespar._native import Connection, Identity, Listener, Plan, Session
from degreespar.bench.namespaces import Place
from degreespar.bench.processes import Say, TwoProcesses
from degreespar.degree import METHODS, Method, Selection
from degreespar.engine.ops import Ops
from degreespar.engine.ring import Words, reduce, required_bits
from degreespar.engine.secret import Secret
from degreespar.engine.trace import TraceBackend
from degreespar.engine.two_party import TwoPartyBackend
from degreespar.errors import DegreeSparError
from degreespar.party.client import dial
from degreespar.party.native import native_errors
from degreespar.party.report import Cost, Stopwatch, total
from degreespar.party.server import LISTENING, open_door
from degreespar.program.selection import select_tokens
from degreespar.program.units import ACTIVATION_FRAC, PROBABILITY_FRAC, RECIPROCAL_FRAC, VARIANCE_SUM_FRAC
from degreespar.program.vca import ClassRow

WAIT_S = 600.0
BOUND, VARIANCE, MEAN_VARIANCE = 32.0, 16.0, (2.0**-4, 2.0**2)
"""As of trained models (bench.made_model)."""
WEIGHT_BITS, SHARE_BITS = 38, 30
ALPHA = 0.5
PHASES = ("prepare", "answer")


@dataclass(frozen=True)
class Shape:
    """Tokens and kept tokens with [CLS], the kept ones in ranges of these sizes."""

    tokens: int
    ranges: tuple[int, ...]
    width: int
    heads: int

    def __post_init__(self) -> None:
        if not 0 < sum(self.ranges) < self.tokens:
            raise DegreeSparError(f"{sum(self.ranges) + 1} of {self.tokens} tokens cannot be kept")

    def run(self, ops: Ops, method: Method, rng: np.random.Generator) -> Secret:
        """One selection on this party's random shares."""

        def share(bits: int, frac_bits: int, bound: float, *shape: int) -> Secret:
            words: Words = rng.integers(0, 2**64, shape, dtype=np.uint64)
            return Secret(reduce(words, bits), bits, frac_bits, bound)

        x_bits, variance_bits = (
            required_bits(BOUND, ACTIVATION_FRAC),
            required_bits(VARIANCE, VARIANCE_SUM_FRAC),
        )
        x = share(x_bits, ACTIVATION_FRAC, BOUND, self.tokens, self.width)
        variance = share(variance_bits, VARIANCE_SUM_FRAC, VARIANCE, self.tokens)
        row = ClassRow(
            share(WEIGHT_BITS, PROBABILITY_FRAC, 1.0, self.heads, self.tokens),
            share(SHARE_BITS, RECIPROCAL_FRAC, 2.0, self.heads),
        )
        return select_tokens(ops, x, variance, row, Selection(self.ranges, ALPHA, method), MEAN_VARIANCE)

    def plan(self, method: Method) -> Plan:
        """Needs and messages."""
        trace = TraceBackend()
        trace.begin_window("selection")
        self.run(Ops(trace), method, np.random.default_rng(0))
        return trace.windows[0][1]


Costs = Mapping[Method, Sequence[Mapping[str, Cost]]]
"""Of every repetition, by phase."""


def serve(address: str, identity: Identity, trusted: list[str], deadline_s: float, shape: Shape,
          repeats: int, say: Say) -> Costs:  # fmt: skip
    """The server's part, for one client."""
    listener = open_door(address, identity, trusted)
    say(f"{LISTENING}{listener.address}")
    return _measure(_accepted(listener, deadline_s), shape, repeats, deadline_s)


def ask(address: str, identity: Identity, trusted: list[str], deadline_s: float, shape: Shape,
        repeats: int) -> Costs:  # fmt: skip
    """The client's part."""
    return _measure(dial(address, identity, trusted, deadline_s), shape, repeats, deadline_s)


def on_this_machine(
    places: tuple[Place, Place], folder: Path, words: Sequence[str], deadline_s: float, say: Say
) -> dict[str, Any]:
    """Both parts as two processes, each started with these words of the command line: the client's JSON."""
    return TwoProcesses(folder, say, *places, deadline_s).run(words, words).facts


def metrics(runs: Sequence[Mapping[str, Cost]]) -> dict[str, object]:
    """Means: random OTs are made in batches for several repetitions, in the preparation of one."""
    found: dict[str, object] = {"repetitions": len(runs)}
    for phase in PHASES:
        summed = asdict(total(run[phase] for run in runs))
        found |= {f"{phase}_{key}": value / len(runs) for key, value in summed.items()}
    totals = [total(run.values()).seconds for run in runs]
    return found | {"total_seconds": statistics.fmean(totals), "total_seconds_of_each": totals}


def _measure(connection: Connection, shape: Shape, repeats: int, deadline_s: float) -> Costs:
    with native_errors():
        connection.set_deadline(deadline_s)
        session = Session(connection)
        return {
            method: [_once(session, shape, method, number) for number in range(repeats)] for method in METHODS
        }


def _once(session: Session, shape: Shape, method: Method, seed: int) -> dict[str, Cost]:
    plan, ops = shape.plan(method), Ops(TwoPartyBackend(session, {}, {}))
    rng, watch = np.random.default_rng(seed), Stopwatch(session)
    session.prepare(plan)
    prepared = watch.lap()
    shape.run(ops, method, rng)
    return {"prepare": prepared, "answer": watch.lap()}


def _accepted(listener: Listener, deadline_s: float) -> Connection:
    with native_errors():
        connection = listener.accept(WAIT_S, deadline_s)
    if connection is None:
        raise DegreeSparError(f"no client came within {WAIT_S:.0f} s")
    return connection
