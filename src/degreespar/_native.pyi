"""The native core: transport, correlations and protocols. Ring words are uint64 arrays of any shape."""

from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Connection",
    "Declared",
    "Forecast",
    "Identity",
    "Listener",
    "NativeError",
    "Plan",
    "Session",
    "connect",
    "fingerprint_of_pem",
    "memory_pair",
]

_Words = NDArray[np.uint64]
_Bits = NDArray[np.uint8]

class NativeError(Exception):
    """What the connection, the peer or a protocol did wrong, in one sentence."""

@final
class Identity:
    """A party's certificate and private key."""

    @staticmethod
    def generate(name: str) -> Identity:
        """A fresh self-signed certificate."""
    @staticmethod
    def from_pem(certificate_pem: str, key_pem: str) -> Identity:
        """Reads what the two properties below gave."""
    @property
    def certificate_pem(self) -> str:
        """The public part."""
    @property
    def key_pem(self) -> str:
        """The private part: never leaves its owner."""
    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, in hex: what the peer trusts."""

def fingerprint_of_pem(certificate_pem: str) -> str:
    """The fingerprint of a peer's certificate file."""

@final
class Connection:
    """An encrypted, mutually authenticated connection before its first secret."""

    @property
    def peer_fingerprint(self) -> str:
        """Whose certificate the peer proved to hold."""
    def set_deadline(self, seconds: float) -> None:
        """Longest wait for one message."""
    def shape(self, bits_per_second: float, one_way_delay_s: float) -> None:
        """Limits what this end sends and receives to a network's rate and delay (both ends must do it)."""
    def record(self) -> None:
        """Keeps the shape of every message from here on (see `Session.take_recording`)."""
    def send(self, label: str, payload: bytes) -> None:
        """Sends a handshake message."""
    def receive(self, label: str, at_most_bytes: int) -> bytes:
        """The next handshake message."""

@final
class Listener:
    """A listening socket."""

    def __new__(cls, address: str, identity: Identity, trusted: list[str]) -> Listener: ...
    @property
    def address(self) -> str:
        """host:port that it listens on."""
    def accept(self, wait_s: float, handshake_deadline_s: float) -> Connection | None:
        """The next peer, or None if nobody came; a peer that fails to authenticate raises NativeError."""

def connect(address: str, identity: Identity, trusted: list[str], deadline_s: float) -> Connection:
    """Connects to a listener whose certificate is trusted."""

def memory_pair() -> tuple[Connection, Connection]:
    """The server's and the client's end of a connection inside this process (tests, simulation)."""

@final
class Plan:
    """The correlations and messages of a window of a program, from public shapes alone."""

    def __new__(cls) -> Plan: ...
    def extend(self, bits: int, to_bits: int, count: int) -> None: ...
    def extend_all(self, parts: list[tuple[int, int, int]]) -> None: ...
    def extend_square(self, bits: int, to_bits: int, nonnegative: bool, count: int) -> None: ...
    def piecewise(self, spec: object, count: int) -> None: ...
    def less_than(self, bits: int, thresholds: list[int], count: int) -> None: ...
    def mux(self, bits: int, count: int) -> None: ...
    def mux_rows(self, bits: int, rows: int, width: int) -> None: ...
    def arithmetic(self, bits: int, count: int) -> None: ...
    def square(self, bits: int, count: int) -> None: ...
    def product(self, bits: int, count: int) -> None: ...
    def linear(self, number: int, bits: int, rows: int, inner: int, cols: int) -> None: ...
    def matmul(self, bits: int, batch: int, rows: int, inner: int, cols: int) -> None: ...
    def maximum(self, bits: int, rows: int, cols: int) -> None: ...
    def inverse(self, spec: object, count: int) -> None: ...
    def reveal(self, bits: int, count: int) -> None: ...
    @property
    def bytes_to_client(self) -> int:
        """Declared payload bytes of the answer phase, server to client."""
    @property
    def bytes_to_server(self) -> int:
        """The other way."""
    @property
    def flips(self) -> int:
        """Longest chain of messages that wait for each other, answer phase."""
    def events(self) -> list[tuple[str, str, int]]:
        """Declared messages: (direction "to_client" | "to_server", label, bytes)."""
    def correlations(self) -> list[tuple[str, int, list[int]]]:
        """What is prepared: kind, width in bits, public shape (counts come last)."""

@final
class Declared:
    """One phase of one window, as the meters of both parties will read it."""

    @property
    def to_client_bytes(self) -> int: ...
    @property
    def to_server_bytes(self) -> int: ...
    @property
    def server_flips(self) -> int:
        """What the server's meter adds to its flips."""
    @property
    def client_flips(self) -> int:
        """What the client's adds."""
    @property
    def stages(self) -> list[tuple[str, int, int, dict[str, int]]]:
        """Parts that begin when the one before has ended at both parties: name, bytes to the client, to
        the server, units of work of both parties by name (prices are put on them)."""

@final
class Forecast:
    """Follows a session from its set-up on, phase by phase on both streams, exactly."""

    def __new__(cls) -> Forecast: ...
    def prepare(self, plan: Plan) -> Declared:
        """The next window's preparation."""
    def begin_answer(self) -> None:
        """The next `Session.begin_answer`."""
    def answer(self, plan: Plan) -> Declared:
        """The plan's steps, run one after another."""

@final
class Session:
    """One party's side of a run: set-up, prepare, answer."""

    def __new__(cls, connection: Connection) -> Session:
        """Takes the connection over and does the set-up with the peer: base OTs, keys."""
    @property
    def is_server(self) -> bool: ...
    def load_weight(self, number: int, matrix: NDArray[np.int16]) -> None:
        """At the server: the (inner x cols) matrix that the plans know by this number."""
    def declare_weight(self, number: int, inner: int, cols: int) -> None:
        """At the client: its shape."""
    def prepare(self, plan: Plan) -> None:
        """Makes all correlations of the plan; the input is not needed yet."""
    def prepare_cost(self, plan: Plan) -> tuple[int, int, int]:
        """Declared bytes to the client, to the server, and flips of the next `prepare(plan)`."""
    def hold_at_most(self, windows: int) -> None:
        """Bounds the windows held at once: in making, ready and in use."""
    def order(self, plan: Plan) -> None:
        """Has a window made on another thread, after those ordered before, as there is room."""
    def wait_ready(self, windows: int) -> None:
        """Waits until so many ordered windows lie ready."""
    def begin_answer(self, wait_s: float) -> None:
        """The client says that an answer begins; the server waits for that, at most so long."""
    def begin_window(self) -> tuple[float, int, int, int]:
        """Waits for the next ordered window: its seconds, bytes to the client, to the server, and flips."""
    def end_window(self) -> None:
        """The window is used up; an error if it is not."""
    def windows_held(self) -> int:
        """Windows in making, ready and in use."""
    def burn(self) -> None:
        """Drops everything that is prepared and ends the connection."""
    def close(self) -> None:
        """Ends the connection and waits for the preparing thread; the session is used up."""
    def drop_low(self, x: _Words, bits: int, by: int) -> _Words: ...
    def extend(self, x: _Words, bits: int, to_bits: int) -> _Words: ...
    def extend_all(self, parts: list[tuple[_Words, int, int]]) -> list[_Words]: ...
    def extend_square(self, x: _Words, bits: int, to_bits: int, nonnegative: bool) -> _Words: ...
    def piecewise(self, x: _Words, spec: object) -> _Words: ...
    def less_than(self, x: _Words, bits: int, thresholds: list[int]) -> list[_Bits]: ...
    def mux(self, bit: _Bits, x: _Words, bits: int) -> _Words: ...
    def mux_rows(self, bit: _Bits, x: _Words, bits: int) -> _Words: ...
    def arithmetic(self, bit: _Bits, bits: int) -> _Words: ...
    def square(self, x: _Words, bits: int) -> _Words: ...
    def product(self, x: _Words, y: _Words, bits: int) -> _Words: ...
    def linear(self, x: _Words, number: int, bits: int) -> _Words: ...
    def matmul(self, x: _Words, y: _Words, bits: int) -> _Words: ...
    def maximum(self, x: _Words, bits: int) -> _Words: ...
    def inverse(self, x: _Words, spec: object) -> _Words: ...
    def reveal(self, x: _Words, bits: int) -> _Words | None: ...
    def sent_bytes(self) -> int:
        """On both streams; of preparations, up to the last window made."""
    def received_bytes(self) -> int: ...
    def flips(self) -> int:
        """Longest chains of messages known to this party since the connection began, both streams added."""
    def answer_traffic(self) -> tuple[int, int, int]:
        """Sent bytes, received bytes and flips of the answer stream alone."""
    def traffic_by_label(self) -> dict[str, tuple[int, int, int]]:
        """Sent bytes, received bytes, messages by label."""
    def record(self) -> None:
        """Starts to keep the shape of every message."""
    def take_recording(self) -> tuple[list[tuple[str, str, int]], list[tuple[str, str, int]]]:
        """The shapes since `record`, of preparations and of answers: (direction, label, bytes)."""
    def unused_correlations(self) -> int:
        """Batches that are prepared and not used."""
