"""The server: answers one client after another, and survives any of them misbehaving."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import numpy as np

from degreespar._native import Connection, Identity, Listener
from degreespar.artifact import PublicPart, read_server
from degreespar.engine.ring import Integers
from degreespar.errors import DegreeSparError
from degreespar.party.demand import Demand
from degreespar.party.handshake import MAX_ANSWERS, policy_digest, welcome
from degreespar.party.native import native_errors
from degreespar.party.pace import MAX_WINDOWS_HELD, Pace
from degreespar.party.report import Progress, RunReport, silent
from degreespar.party.run import Run

LISTENING = "listening at "
"""How the first line of a server process begins; the address follows."""

STOP_CHECK_S = 0.25
"""How often a server that waits for clients looks whether it shall stop."""

PAUSE_AFTER_FAILURE_S = 0.05

Log = Callable[[str], None]


@dataclass(frozen=True)
class ServerModel:
    """A model with its weights, and what one answer needs (computed once)."""

    public: PublicPart
    tensors: Mapping[str, Integers]
    digest: str
    demand: Demand

    @classmethod
    def load(cls, folder: Path) -> "ServerModel":
        """From an artifact's folder, all of it checked."""
        public, tensors, digest = read_server(folder)
        wide = {name: np.asarray(tensor, dtype=np.int64) for name, tensor in tensors.items()}
        return cls(public, wide, digest, Demand.of(public.at_length(public.geometry.tokens)))

    def demand_for(self, tokens: int, by_kind: bool) -> Demand:
        """What one answer needs; all but the usual one are made for the client that asks for them."""
        if tokens == self.public.geometry.tokens and not by_kind:
            return self.demand
        return Demand.of(self.public.at_length(tokens), by_kind)

    def policies(self) -> dict[int, str]:
        """The digests of the policies by length class."""
        classes = self.public.length_classes
        return {tokens: policy_digest(self.public.at_length(tokens).policy) for tokens in classes}


@dataclass(frozen=True)
class Limits:
    """How long a server waits and how much it gives."""

    deadline_s: float = 60.0
    answers: int = MAX_ANSWERS
    windows_held: int = MAX_WINDOWS_HELD
    """How many windows of correlations one client may have it hold."""
    idle_s: float | None = None
    """How long a client may wait with its next answer; None: the deadline."""
    clients: int | None = None
    """Stop after so many, whether they were served or failed; None: never."""


@dataclass
class Tally:
    """What became of the clients so far."""

    served: int = 0
    failed: int = 0
    answers: int = 0

    @property
    def clients(self) -> int:
        """All that came."""
        return self.served + self.failed


def open_door(address: str, identity: Identity, trusted: list[str]) -> Listener:
    """Starts to listen; the connections are taken by `serve`."""
    with native_errors():
        return Listener(address, identity, trusted)


def serve(
    listener: Listener,
    model: ServerModel,
    limits: Limits,
    stop: Event,
    log: Log,
    progress: Progress = silent,
) -> Tally:
    """Serves until `stop` is set or the limit of clients has come; each failure is one logged line."""
    service = _Service(model, limits, log, progress)
    while not (stop.is_set() or service.is_over):
        if not service.serve_next(listener):
            # A failure that comes back at once, such as no file left to open, must not become a busy loop.
            stop.wait(PAUSE_AFTER_FAILURE_S)
    return service.tally


@dataclass
class _Service:
    model: ServerModel
    limits: Limits
    log: Log
    progress: Progress
    tally: Tally = field(default_factory=Tally)

    @property
    def is_over(self) -> bool:
        """Whether as many clients have come as shall."""
        return self.limits.clients is not None and self.tally.clients >= self.limits.clients

    def serve_next(self, listener: Listener) -> bool:
        """Waits a moment for a client and gives it all that it asks for; False if that failed.

        The connection lives no longer than this call: a client that is refused sees it close at once.
        """
        try:
            with native_errors():
                connection = listener.accept(STOP_CHECK_S, self.limits.deadline_s)
            if connection is not None:
                self._answer_all(connection)
                self.tally.served += 1
        except DegreeSparError as error:
            return self._note(str(error))
        # A mistake of ours in one run, or the machine's memory, must not end the service of the others.
        except Exception as error:
            return self._note(f"internal error, {type(error).__name__}: {error}")
        return True

    def _answer_all(self, connection: Connection) -> None:
        with native_errors():
            connection.set_deadline(self.limits.deadline_s)
            agreed = welcome(
                connection,
                self.model.digest,
                self.model.policies(),
                self.limits.answers,
                self.limits.windows_held,
            )
        who = f"client {connection.peer_fingerprint[:12]}..."
        self.log(f"{who}: {agreed.answers} answers, {agreed.tokens} tokens each")
        demand = self.model.demand_for(agreed.tokens, agreed.by_kind)
        idle_s = self.limits.idle_s or self.limits.deadline_s
        pace = Pace(agreed.mode, agreed.windows_held, agreed.answers, idle_s)
        with closing(Run(connection, demand, self.model.tensors, pace)) as run:
            for number in range(agreed.answers):
                _, report = run.answer(None, self.progress)
                self.tally.answers += 1
                self.log(f"answer {number + 1}/{agreed.answers}: {_seconds(report)}")

    def _note(self, failure: str) -> bool:
        self.tally.failed += 1
        self.log(f"a client failed: {failure}")
        return False


def _seconds(report: RunReport) -> str:
    prepared, given = report.prepare.seconds, report.answer.seconds
    return (
        f"prepared in {prepared:.2f} s, given in {given:.2f} s ({report.mode.value}: {report.wall_s:.2f} s)"
    )
