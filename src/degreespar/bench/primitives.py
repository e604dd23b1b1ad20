"""What every primitive costs on this machine: both parties in one process, over a connection in memory.

The inputs are random shares, so the values are random too, often out of a primitive's bounds: results
are garbage then, but the work, the messages and the time do not depend on values.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from degreespar._native import Connection, Plan, Session, memory_pair
from degreespar.engine.inverse import inverse_spec
from degreespar.engine.ring import BitArray, Words, reduce
from degreespar.party.native import native_errors
from degreespar.party.report import Cost, read_meter

DEADLINE_S = 120.0
SEED = 2026


@dataclass(frozen=True)
class Case:
    """One primitive at one size: its public arguments, its inputs, and the call of either party."""

    name: str
    bits: int
    elements: int
    config: dict[str, object]
    declare: Callable[[Plan], None]
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    perform: Callable[..., object]
    weight: tuple[int, int] | None = None


@dataclass(frozen=True)
class Phase:
    """Both parties together: wall clock and the meter, processor time, and the bytes and flips declared."""

    wall: Cost
    cpu_s: float
    declared: tuple[int, int, int]

    @property
    def as_declared(self) -> bool:
        """Whether the meter read what was declared."""
        return (self.wall.to_client_bytes, self.wall.to_server_bytes, self.wall.flips) == self.declared


@dataclass(frozen=True)
class Result:
    """A case, measured."""

    case: Case
    prepare: Phase
    answer: Phase

    def metrics(self) -> dict[str, object]:
        """With units in their names."""
        found: dict[str, object] = {}
        for name, phase in (("prepare", self.prepare), ("answer", self.answer)):
            found |= {
                f"{name}_cpu_ns_per_element": 1e9 * phase.cpu_s / self.case.elements,
                f"{name}_wall_ns_per_element": 1e9 * phase.wall.seconds / self.case.elements,
                f"{name}_to_client_bytes": phase.wall.to_client_bytes,
                f"{name}_to_server_bytes": phase.wall.to_server_bytes,
                f"{name}_flips": phase.wall.flips,
                f"{name}_declared_bytes_and_flips": list(phase.declared),
            }
        return found


def cases(scale: int) -> list[Case]:
    """Every primitive; `scale` elements for those that work element by element."""
    return [*_elementwise(scale), *_rowwise(scale), *_matrix_products()]


def measure(case: Case) -> Result:
    """Runs the case once, the two parties in two threads."""
    meeting = threading.Barrier(2)
    with native_errors(), ThreadPoolExecutor(2) as pool:
        parties = [pool.submit(_party, end, case, meeting) for end in memory_pair()]
        _, (prepare, answer) = (party.result() for party in parties)
    return Result(case, prepare, answer)


def _party(end: Connection, case: Case, meeting: threading.Barrier) -> tuple[Phase, Phase]:
    try:
        return _phases(end, case, meeting)
    except BaseException:
        meeting.abort()  # the other must not wait for one who failed
        raise


def _phases(end: Connection, case: Case, meeting: threading.Barrier) -> tuple[Phase, Phase]:
    end.set_deadline(DEADLINE_S)
    session, plan = Session(end), Plan()
    case.declare(plan)
    inputs = case.inputs(np.random.default_rng(SEED + session.is_server))
    _place_weight(session, case)
    prepare_cost = session.prepare_cost(plan)
    answer_cost = (plan.bytes_to_client, plan.bytes_to_server, plan.flips)
    prepare = _timed(session, meeting, prepare_cost, lambda: session.prepare(plan))
    answer = _timed(session, meeting, answer_cost, lambda: case.perform(session, *inputs))
    return prepare, answer


def _timed(
    session: Session, meeting: threading.Barrier, declared: tuple[int, int, int], work: Callable[[], object]
) -> Phase:
    """From the moment both stand ready to the moment both are done."""
    meeting.wait(DEADLINE_S)
    before, cpu_s = read_meter(session), time.process_time()
    work()
    meeting.wait(DEADLINE_S)
    return Phase(read_meter(session) - before, time.process_time() - cpu_s, declared)


def _place_weight(session: Session, case: Case) -> None:
    if case.weight is None:
        return
    if session.is_server:
        matrix = np.random.default_rng(SEED).integers(-(2**15), 2**15, case.weight, dtype=np.int16)
        session.load_weight(0, matrix)
    else:
        session.declare_weight(0, *case.weight)


def _words(bits: int, *shape: int) -> Callable[[np.random.Generator], tuple[Words]]:
    return lambda rng: (reduce(rng.integers(0, 2**64, shape, dtype=np.uint64), bits),)


def _two_words(bits: int, first: tuple[int, ...], second: tuple[int, ...]) -> Callable[..., Any]:
    return lambda rng: (*_words(bits, *first)(rng), *_words(bits, *second)(rng))


def _bit_and_words(bits: int, count: int) -> Callable[[np.random.Generator], tuple[BitArray, Words]]:
    return lambda rng: (rng.integers(0, 2, count, dtype=np.uint8), *_words(bits, count)(rng))


def _elementwise(n: int) -> list[Case]:
    """Sizes of rings as a ViT uses them: 24 bits for activations, 37 for their products."""
    edges = [-512, 0, 512]
    return [
        Case("extend", 24, n, {"to_bits": 37}, lambda p: p.extend(24, 37, n), _words(24, n),
             lambda s, x: s.extend(x, 24, 37)),
        Case("less_than", 16, n, {"thresholds": 1}, lambda p: p.less_than(16, [0], n), _words(16, n),
             lambda s, x: s.less_than(x, 16, [0])),
        Case("less_than", 16, n, {"thresholds": 3}, lambda p: p.less_than(16, edges, n), _words(16, n),
             lambda s, x: s.less_than(x, 16, edges)),
        Case("mux", 24, n, {}, lambda p: p.mux(24, n), _bit_and_words(24, n),
             lambda s, bit, x: s.mux(bit, x, 24)),
        Case("square", 37, n, {}, lambda p: p.square(37, n), _words(37, n), lambda s, x: s.square(x, 37)),
        Case("product", 37, n, {}, lambda p: p.product(37, n), _two_words(37, (n,), (n,)),
             lambda s, x, y: s.product(x, y, 37)),
        Case("reveal", 24, n, {}, lambda p: p.reveal(24, n), _words(24, n), lambda s, x: s.reveal(x, 24)),
    ]  # fmt: skip


def _rowwise(n: int) -> list[Case]:
    rows, cols, few = max(1, n // 50), 50, max(1, n // 16)
    share = inverse_spec(False, 0.5, 64.0, 21, 13, 18)
    root = inverse_spec(True, 2.0**-6, 2.0**6, 24, 16, 16)
    return [
        Case("maximum", 20, rows * cols, {"rows": rows, "cols": cols}, lambda p: p.maximum(20, rows, cols),
             _words(20, rows, cols), lambda s, x: s.maximum(x, 20)),
        Case("reciprocal", share.work_bits, few, {"range": [0.5, 64.0]}, lambda p: p.inverse(share, few),
             _words(share.input_bits, few), lambda s, x: s.inverse(x, share)),
        Case("reciprocal_root", root.work_bits, few, {"range": [2.0**-6, 2.0**6]},
             lambda p: p.inverse(root, few), _words(root.input_bits, few), lambda s, x: s.inverse(x, root)),
    ]  # fmt: skip


def _matrix_products() -> list[Case]:
    """Elements are those of the result."""
    rows, inner, cols, batch = 50, 128, 384, 4
    return [
        Case("linear", 37, rows * cols, {"rows": rows, "inner": inner, "cols": cols},
             lambda p: p.linear(0, 37, rows, inner, cols), _words(37, rows, inner),
             lambda s, x: s.linear(x, 0, 37), weight=(inner, cols)),
        Case("matmul", 37, batch * rows * rows, {"batch": batch, "rows": rows, "inner": 32, "cols": rows},
             lambda p: p.matmul(37, batch, rows, 32, rows),
             _two_words(37, (batch, rows, 32), (batch, 32, rows)), lambda s, x, y: s.matmul(x, y, 37)),
    ]  # fmt: skip
