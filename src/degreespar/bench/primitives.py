"""What every primitive costs on this machine: both parties in one process, over a connection in memory."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from degreespar._native import Connection, Session, memory_pair
from degreespar.bench import cases as made
from degreespar.bench.cases import Case
from degreespar.engine.inverse import inverse_spec, piecewise_spec
from degreespar.party.native import native_errors
from degreespar.party.report import Cost, read_meter

DEADLINE_S = 120.0


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
    session, plan = Session(end), case.plan()
    inputs = case.own_inputs(session)
    case.place_weight(session)
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


def _elementwise(n: int) -> list[Case]:
    """Sizes of rings as a ViT uses them: 24 bits for activations, 37 for their products."""
    return [
        made.extend(24, 37, n),
        *(made.less_than(bits, [0], n) for bits in (12, 16, 20, 28, 37)),
        made.less_than(16, [-512, 0, 512], n),
        made.mux(24, n),
        made.mux_rows(24, max(1, n // 384), 384),
        made.arithmetic(9, n),
        made.square(37, n),
        made.extend_square(17, 33, n),
        made.product(37, n),
        made.reveal(24, n),
    ]


def _rowwise(n: int) -> list[Case]:
    rows, cols, few = max(1, n // 50), 50, max(1, n // 16)
    shares, roots = (0.5, 64.0), (2.0**-6, 2.0**6)
    pieces = piecewise_spec(False, *shares, 1.0, 21, 13, 18)
    return [
        *([made.piecewise("piecewise", pieces, shares, few)] if pieces else []),
        made.maximum(20, rows, cols),
        made.maximum(15, max(1, n // 197), 197),
        made.inverse("reciprocal", inverse_spec(False, *shares, 21, 13, 18), shares, few),
        made.inverse("reciprocal_root", inverse_spec(True, *roots, 24, 16, 16), roots, few),
    ]


def _matrix_products() -> list[Case]:
    """A small model's, and those of a ViT-S layer."""
    return [
        made.linear(37, 50, 128, 384),
        made.linear(37, 197, 384, 1152),
        made.matmul(37, 4, 50, 32, 50),
        made.matmul(37, 6, 197, 64, 197),
        made.matmul(37, 6, 197, 197, 64),
    ]
