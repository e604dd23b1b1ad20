"""What a run will need, from public facts alone: both parties compute the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from degreespar._native import Plan, Session
from degreespar.artifact import PublicPart
from degreespar.engine.ring import Integers
from degreespar.engine.trace import TraceBackend
from degreespar.party.oracle import answer


@dataclass(frozen=True)
class Window:
    """A part of the program that is prepared at once."""

    name: str
    plan: Plan


@dataclass(frozen=True)
class Demand:
    """Of one answer: windows in order, the numbers of the weight matrices, and every reveal."""

    public: PublicPart
    by_kind: bool
    """Whether every kind of work inside a window is prepared and reported apart."""
    windows: tuple[Window, ...]
    matrices: Mapping[str, int]
    reveals: tuple[str, ...]

    @classmethod
    def of(cls, public: PublicPart, by_kind: bool = False) -> "Demand":
        """Runs the program on shapes only: once per artifact, it takes a while for a large model."""
        trace = TraceBackend(by_kind)
        answer(trace, public, None)
        windows = tuple(Window(name, plan) for name, plan in trace.windows)
        return cls(public, by_kind, windows, trace.matrices, tuple(trace.reveals))

    @property
    def bytes_to_client(self) -> int:
        """Declared bytes of the answer phase, server to client."""
        return sum(window.plan.bytes_to_client for window in self.windows)

    @property
    def bytes_to_server(self) -> int:
        """The other way."""
        return sum(window.plan.bytes_to_server for window in self.windows)

    @property
    def flips(self) -> int:
        """Declared flips of the answer phase, at most: a chain may run on from window to window."""
        return sum(window.plan.flips for window in self.windows)

    def load_weights(self, session: Session, tensors: Mapping[str, Integers]) -> None:
        """At the server: gives the session all matrices."""
        for name, number in self.matrices.items():
            session.load_weight(number, tensors[name].astype("int16", copy=False))

    def declare_weights(self, session: Session) -> None:
        """At the client: their shapes."""
        for name, number in self.matrices.items():
            inner, cols = self.public.weight(name).shape
            session.declare_weight(number, inner, cols)
