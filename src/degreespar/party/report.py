"""What a run cost: measured by this party, phase by phase and window by window."""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from degreespar._native import Session
from degreespar.party.pace import Mode


@dataclass(frozen=True)
class Cost:
    """Seconds (waiting for the peer included), bytes each way and flips."""

    seconds: float = 0.0
    to_client_bytes: int = 0
    to_server_bytes: int = 0
    flips: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.seconds + other.seconds,
            self.to_client_bytes + other.to_client_bytes,
            self.to_server_bytes + other.to_server_bytes,
            self.flips + other.flips,
        )

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            self.seconds - other.seconds,
            self.to_client_bytes - other.to_client_bytes,
            self.to_server_bytes - other.to_server_bytes,
            self.flips - other.flips,
        )


def total(costs: Iterable[Cost]) -> Cost:
    """The sum."""
    return sum(costs, Cost())


@dataclass(frozen=True)
class WindowReport:
    """One part of the program.

    Its preparation may have run beside other windows' answers: its seconds are those of the preparing
    thread, of which the answer waited only `waited_s`.
    """

    name: str
    prepare: Cost
    answer: Cost
    waited_s: float = 0.0


@dataclass(frozen=True)
class RunReport:
    """One answer."""

    windows: tuple[WindowReport, ...]
    mode: Mode = Mode.OVERLAP

    @property
    def prepare(self) -> Cost:
        """Making correlations, before, between or beside the windows."""
        return total(window.prepare for window in self.windows)

    @property
    def answer(self) -> Cost:
        """The online part."""
        return total(window.answer for window in self.windows)

    @property
    def wall_s(self) -> float:
        """From the wish for an answer to the answer, the waits for preparation included."""
        return self.answer.seconds + sum(window.waited_s for window in self.windows)

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "mode": self.mode.value,
            "wall_s": self.wall_s,
            "prepare": asdict(self.prepare),
            "answer": asdict(self.answer),
            "windows": [asdict(window) for window in self.windows],
        }


@dataclass(frozen=True)
class Step:
    """Progress: a window of a phase is done."""

    phase: str
    window: str
    number: int
    windows: int


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Tells nobody."""


def read_meter(session: Session) -> Cost:
    """All traffic of both streams since the connection began, up to the last window made, and the clock."""
    return _cost(session, session.sent_bytes(), session.received_bytes(), session.flips())


def _cost(session: Session, sent: int, received: int, flips: int) -> Cost:
    down, up = (sent, received) if session.is_server else (received, sent)
    return Cost(time.perf_counter(), down, up, flips)


class Stopwatch:
    """Reads the meter of a session's answers, lap by lap."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last = self._read()

    def lap(self) -> Cost:
        """The cost since the last lap."""
        now = self._read()
        cost, self._last = now - self._last, now
        return cost

    def _read(self) -> Cost:
        return _cost(self._session, *self._session.answer_traffic())
