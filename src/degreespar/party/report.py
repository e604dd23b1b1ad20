"""What a run cost: measured by this party, phase by phase and window by window."""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from degreespar._native import Session


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
    """One part of the program."""

    name: str
    prepare: Cost
    answer: Cost


@dataclass(frozen=True)
class RunReport:
    """One answer."""

    windows: tuple[WindowReport, ...]

    @property
    def prepare(self) -> Cost:
        """Making correlations, before or between the windows."""
        return total(window.prepare for window in self.windows)

    @property
    def answer(self) -> Cost:
        """The online part."""
        return total(window.answer for window in self.windows)

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        return {
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
    """All traffic since the connection began, and the clock."""
    sent, received = session.sent_bytes(), session.received_bytes()
    down, up = (sent, received) if session.is_server else (received, sent)
    return Cost(time.perf_counter(), down, up, session.flips())


class Stopwatch:
    """Reads a session's meter, lap by lap."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last = read_meter(session)

    def lap(self) -> Cost:
        """The cost since the last lap."""
        now = read_meter(self._session)
        cost, self._last = now - self._last, now
        return cost
