"""One party of a price measurement: the line between two machines, then every case on a session.

Two connections: the first one, the *control*, keeps the two parties in step and carries the server's
figures home; the second one becomes the session.

1. The client greets over the control; the server answers with its machine.
2. The client measures the line over the control: round trip of small messages, rate of large ones.
3. For every case, as often as agreed: both wait for each other, prepare, wait, answer.
4. The server sends its readings.
"""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from degreespar._native import Connection, Session
from degreespar.bench.cases import Case
from degreespar.bench.processes import Say
from degreespar.bench.rows import cpu_name
from degreespar.degree.price_table import Line
from degreespar.degree.strict_json import take_float, take_int, take_list, take_object, take_str
from degreespar.errors import DegreeSparError
from degreespar.party.native import native_errors

GREETING = "degreespar price 1"
UP, DOWN = "hello", "welcome"
PINGS = 15
BULK_BYTES, BULKS = 1 << 20, 12
MOST_BYTES = 1 << 22
PHASES = ("prepare", "answer")


class PriceRunError(DegreeSparError):
    """The two ends of a price measurement do not understand each other."""


@dataclass(frozen=True)
class Reading:
    """One phase of one case at one party."""

    wall_s: float
    cpu_s: float


Readings = list[dict[str, Reading]]
"""By phase, for every repetition of every case, in the order of the run."""


@dataclass(frozen=True)
class PairReadings:
    """What the client ends with."""

    server_machine: str
    line: Line
    server: Readings
    client: Readings


def serve_prices(control: Connection, session_end: Connection, cases: Sequence[Case]) -> None:
    """The server's part."""
    with native_errors():
        wanted = _expect(control.receive(UP, MOST_BYTES), ("greeting", "cases", "repeats"))
        if wanted["greeting"] != GREETING or wanted["cases"] != len(cases):
            raise PriceRunError("the client measures other prices: the two sides have different versions")
        repeats = take_int(wanted["repeats"], "repeats", PriceRunError)
        control.send(DOWN, json.dumps({"greeting": GREETING, "machine": cpu_name()}).encode())
        for _ in range(PINGS + 2 * BULKS):
            control.send(DOWN, b"x" * _answer_bytes(control.receive(UP, MOST_BYTES)))
        meet = _meeting(control, is_server=True)
        readings = _measure_all(session_end, cases, repeats, meet, silent)
        facts = [{phase: asdict(reading) for phase, reading in run.items()} for run in readings]
        control.send(DOWN, json.dumps(facts).encode())


def ask_prices(
    control: Connection, session_end: Connection, cases: Sequence[Case], repeats: int, name: str, say: Say
) -> PairReadings:
    """The client's part."""
    with native_errors():
        control.send(UP, json.dumps({"greeting": GREETING, "cases": len(cases), "repeats": repeats}).encode())
        answer = _expect(control.receive(DOWN, MOST_BYTES), ("greeting", "machine"))
        line = _probe(control, name)
        say(
            f"the line: {1e3 * line.round_trip_s:.2f} ms, {line.to_client_bits_per_second / 1e6:,.0f} Mbit/s"
            f" to the client, {line.to_server_bits_per_second / 1e6:,.0f} Mbit/s to the server"
        )
        meet = _meeting(control, is_server=False)
        own = _measure_all(session_end, cases, repeats, meet, say)
        theirs = _parse_readings(control.receive(DOWN, MOST_BYTES), len(own))
    machine = take_str(answer["machine"], "machine", PriceRunError)
    return PairReadings(machine, line, theirs, own)


def silent(text: str) -> None:
    """Tells nobody."""


def _measure_all(
    end: Connection, cases: Sequence[Case], repeats: int, meet: Callable[[], None], say: Say
) -> Readings:
    session = Session(end)
    readings: Readings = []
    for number, case in enumerate(cases, 1):
        case.place_weight(session)
        inputs = case.own_inputs(session)
        readings += [_run(session, case, inputs, meet) for _ in range(repeats)]
        seconds = sum(reading.wall_s for reading in readings[-1].values())
        say(f"{number}/{len(cases)} {case.name}, {case.bits} bits, {case.elements}: {seconds:.3f} s")
    return readings


def _run(
    session: Session, case: Case, inputs: tuple[Any, ...], meet: Callable[[], None]
) -> dict[str, Reading]:
    prepare = _timed(meet, lambda: session.prepare(case.plan()))
    return {"prepare": prepare, "answer": _timed(meet, lambda: case.perform(session, *inputs))}


def _timed(meet: Callable[[], None], work: Callable[[], object]) -> Reading:
    meet()
    begin, cpu_s = time.perf_counter(), time.process_time()
    work()
    return Reading(time.perf_counter() - begin, time.process_time() - cpu_s)


def _meeting(control: Connection, is_server: bool) -> Callable[[], None]:
    """Both return at about the same time: the client asks, the server says go."""

    def meet() -> None:
        if is_server:
            control.receive(UP, 1)
            control.send(DOWN, b"g")
        else:
            control.send(UP, b"g")
            control.receive(DOWN, 1)

    return meet


def _probe(control: Connection, name: str) -> Line:
    """Each message says how large its answer shall be."""
    pings = [_timed_exchange(control, 8, 1) for _ in range(PINGS)]
    up = [_timed_exchange(control, BULK_BYTES, 1) for _ in range(BULKS)]
    down = [_timed_exchange(control, 8, BULK_BYTES) for _ in range(BULKS)]
    round_trip_s = min(pings)
    rate = [8 * BULK_BYTES / max(statistics.median(times) - round_trip_s, 1e-6) for times in (down, up)]
    return Line(name, rate[0], rate[1], round_trip_s)


def _timed_exchange(control: Connection, up_bytes: int, down_bytes: int) -> float:
    begin = time.perf_counter()
    control.send(UP, down_bytes.to_bytes(8, "little").ljust(up_bytes, b"x"))
    control.receive(DOWN, down_bytes)
    return time.perf_counter() - begin


def _answer_bytes(message: bytes) -> int:
    size = int.from_bytes(message[:8], "little")
    if size > BULK_BYTES:
        raise PriceRunError(f"the client asks for a message of {size} bytes")
    return size


def _expect(payload: bytes, keys: Sequence[str]) -> dict[str, object]:
    return take_object(_json(payload), keys, "the peer's message", PriceRunError)


def _json(payload: bytes) -> object:
    try:
        return json.loads(payload)
    except ValueError as error:
        raise PriceRunError("the peer's message is no JSON") from error


def _parse_readings(payload: bytes, count: int) -> Readings:
    cases = take_list(_json(payload), "the server's readings", PriceRunError)
    if len(cases) != count:
        raise PriceRunError(f"the server measured {len(cases)} runs, not {count}")
    return [_parse_case(case) for case in cases]


def _parse_case(value: object) -> dict[str, Reading]:
    phases = take_object(value, PHASES, "a reading", PriceRunError)
    return {phase: _parse_reading(phases[phase]) for phase in PHASES}


def _parse_reading(value: object) -> Reading:
    parts = take_object(value, ("wall_s", "cpu_s"), "a reading", PriceRunError)
    return Reading(*(take_float(parts[key], key, PriceRunError) for key in ("wall_s", "cpu_s")))
