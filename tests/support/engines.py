"""Runs one program text on every engine and brings the results side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from degreespar import _native
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ops import Ops
from degreespar.engine.ring import encode, reduce, required_bits, signed
from degreespar.engine.secret import Secret, SecretBits
from degreespar.engine.trace import TraceBackend
from degreespar.engine.two_party import TwoPartyBackend

Program = Callable[[Ops, Callable[..., Secret]], Any]


@dataclass
class PairResult:
    """What the two parties ended with, and what passed between them in the answer phase."""

    outputs: list[Any]
    server_events: list[tuple[str, str, int]] = field(default_factory=list)
    client_events: list[tuple[str, str, int]] = field(default_factory=list)
    flips: int = 0
    unused: int = 0
    reveals: list[str] = field(default_factory=list)


def feeder(seed: int, role: str) -> Callable[..., Secret]:
    """feed(values, bound, frac_bits=12, bits=None): shares of `values` under a random mask."""
    masks = np.random.default_rng(seed)

    def feed(values: Any, bound: float, frac_bits: int = 12, bits: int | None = None) -> Secret:
        units = np.round(np.asarray(values, dtype=np.float64) * 2.0**frac_bits).astype(np.int64)
        bits = bits or required_bits(bound, frac_bits)
        mask = reduce(masks.integers(0, 2**64, size=units.shape, dtype=np.uint64), bits)
        payload = {
            "clear": encode(units, bits),
            "server": mask,
            "client": reduce(encode(units, bits) - mask, bits),
            "trace": np.zeros(units.shape, dtype=np.uint64),
        }[role]
        return Secret(payload, bits, frac_bits, bound)

    return feed


def run_clear(program: Program, weights: Mapping[str, np.ndarray] | None = None, seed: int = 0) -> list[Any]:
    """The oracle's results as plain numbers."""
    ops = Ops(ClearBackend(weights or {}))
    return [_plain(out) for out in _listed(program(ops, feeder(seed, "clear")))]


def run_trace(program: Program, seed: int = 0) -> TraceBackend:
    """The windows that the program declares."""
    backend = TraceBackend()
    program(Ops(backend), feeder(seed, "trace"))
    return backend


def run_pair(program: Program, weights: Mapping[str, np.ndarray] | None = None, seed: int = 0) -> PairResult:
    """Both parties of a real two-party run, in two threads over a connection in memory."""
    trace = run_trace(program, seed)
    ends = _native.memory_pair()
    results: dict[int, Any] = {}
    threads = [
        threading.Thread(
            target=_keep, args=(results, index, program, ends[index], trace, weights or {}, seed)
        )
        for index in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=100)
        assert not thread.is_alive(), "a party hangs"
    for index in (0, 1):
        if isinstance(results[index], BaseException):
            raise results[index]
    (server_out, server), (client_out, client) = results[0], results[1]
    return PairResult(
        outputs=[_joined(left, right) for left, right in zip(server_out, client_out, strict=True)],
        server_events=server["events"],
        client_events=client["events"],
        flips=max(server["flips"], client["flips"]),
        unused=server["unused"] + client["unused"],
        reveals=server["reveals"] + client["reveals"],
    )


def declared(trace: TraceBackend) -> tuple[list[tuple[str, str, int]], int]:
    """All declared messages of the answer phase and, for a single window, its flips."""
    events = [event for _, plan in trace.windows for event in plan.events()]
    flips = trace.windows[0][1].flips if len(trace.windows) == 1 else -1
    return events, flips


def by_direction(events: list[tuple[str, str, int]], direction: str) -> list[tuple[str, str, int]]:
    """The messages of one direction, in order."""
    return [event for event in events if event[0] == direction]


def _keep(results: dict[int, Any], index: int, *arguments: Any) -> None:
    try:
        results[index] = _party(index, *arguments)
    except BaseException as error:
        results[index] = error


def _party(
    index: int,
    program: Program,
    connection: _native.Connection,
    trace: TraceBackend,
    weights: Mapping[str, np.ndarray],
    seed: int,
) -> tuple[list[Any], dict[str, Any]]:
    connection.set_deadline(30.0)
    session = _native.Session(connection)
    for name, number in trace.matrices.items():
        if index == 0:
            session.load_weight(number, weights[name].astype(np.int16))
        else:
            session.declare_weight(number, *weights[name].shape)
    for _, plan in trace.windows:
        session.prepare(plan)
    before = session.flips()
    session.record()
    backend = TwoPartyBackend(session, weights if index == 0 else {}, trace.matrices)
    outputs = _listed(program(Ops(backend), feeder(seed, ("server", "client")[index])))
    facts = {
        "events": session.take_recording()[1],
        "flips": session.flips() - before,
        "unused": session.unused_correlations(),
        "reveals": backend.reveals,
    }
    return outputs, facts


def _listed(output: Any) -> list[Any]:
    return list(output) if isinstance(output, (list, tuple)) else [output]


def _plain(output: Any) -> np.ndarray:
    if isinstance(output, SecretBits):
        return output.payload.astype(np.int64)
    return signed(output.payload, output.bits)


def _joined(server: Any, client: Any) -> np.ndarray:
    """The value behind two shares."""
    if isinstance(server, SecretBits):
        return (server.payload ^ client.payload).astype(np.int64)
    assert (server.bits, server.frac_bits, server.bound) == (client.bits, client.frac_bits, client.bound)
    return signed(reduce(server.payload + client.payload, server.bits), server.bits)
