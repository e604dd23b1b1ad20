"""One party's side of a run: set up once, then prepare and answer for each picture."""

import time
from collections.abc import Mapping
from dataclasses import replace

from degreespar._native import Connection, Session
from degreespar.engine.ring import Integers
from degreespar.engine.trace import part_name
from degreespar.engine.two_party import TwoPartyBackend
from degreespar.party.demand import Demand
from degreespar.party.errors import PartyError
from degreespar.party.native import native_errors
from degreespar.party.oracle import Opened, answer
from degreespar.party.report import Cost, Progress, RunReport, Step, Stopwatch, WindowReport, read_meter


class Run:
    """A native session with the weights in place; `tensors` are empty at the client."""

    def __init__(self, connection: Connection, demand: Demand, tensors: Mapping[str, Integers]) -> None:
        begin = time.perf_counter()
        self._demand, self._tensors = demand, tensors
        with native_errors():
            self.session = Session(connection)
            if self.session.is_server:
                demand.load_weights(self.session, tensors)
            else:
                demand.declare_weights(self.session)
            after = read_meter(self.session)
        self.set_up = replace(after, seconds=after.seconds - begin)

    def answer(
        self, inputs: Integers | None, just_in_time: bool, progress: Progress
    ) -> tuple[Opened | None, RunReport]:
        """One answer: what is opened at the client, None at the server."""
        windows = _Windows(self.session, self._demand, just_in_time, progress)
        backend = TwoPartyBackend(
            self.session, self._tensors, self._demand.matrices, windows.begin, windows.begin_part
        )
        with native_errors():
            if not just_in_time:
                windows.prepare_all()
            opened = answer(backend, self._demand.public, inputs)
            report = windows.finish()
        if tuple(backend.reveals) != self._demand.reveals:
            raise PartyError("the run opened other values than its program declares")
        return opened, report


class _Windows:
    """Prepares and times window after window."""

    def __init__(self, session: Session, demand: Demand, just_in_time: bool, progress: Progress) -> None:
        self._session, self._demand = session, demand
        self._just_in_time, self._progress = just_in_time, progress
        self._watch = Stopwatch(session)
        self._prepared: list[Cost] = []
        self._answered: list[Cost] = []
        self._begun = 0

    def prepare_all(self) -> None:
        for number in range(len(self._demand.windows)):
            self._prepare(number)

    def begin(self, name: str) -> None:
        """The program enters its next window."""
        self._end_last()
        number = self._begun
        if number >= len(self._demand.windows) or self._demand.windows[number].name != name:
            raise PartyError(f"the program enters the window {name!r} that its trace does not have here")
        if self._just_in_time:
            self._prepare(number)
        self._begun = number + 1

    def begin_part(self, kind: str) -> None:
        """The program goes on to another kind of work: a window of its own where the demand says so."""
        if self._demand.by_kind:
            self.begin(part_name(self._demand.windows[self._begun - 1].name, kind))

    def finish(self) -> RunReport:
        self._end_last()
        rows = zip(self._demand.windows, self._prepared, self._answered, strict=True)
        return RunReport(tuple(WindowReport(w.name, made, used) for w, made, used in rows))

    def _prepare(self, number: int) -> None:
        self._session.prepare(self._demand.windows[number].plan)
        self._prepared.append(self._watch.lap())
        self._tell("prepare", number)

    def _end_last(self) -> None:
        if self._begun:
            self._answered.append(self._watch.lap())
            self._tell("answer", self._begun - 1)

    def _tell(self, phase: str, number: int) -> None:
        windows = self._demand.windows
        self._progress(Step(phase, windows[number].name, number + 1, len(windows)))
