"""One party's side of a run: set up once, then an answer for each picture, prepared beside or before it."""

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
from degreespar.party.pace import Mode, Pace
from degreespar.party.report import Cost, Progress, RunReport, Step, Stopwatch, WindowReport, read_meter


class Run:
    """A native session with the weights in place; `tensors` are empty at the client.

    Preparation runs on a thread of the session's own. Whatever ends an answer early burns every window that
    is held and ends the connection: a correlation is never used twice.
    """

    def __init__(
        self, connection: Connection, demand: Demand, tensors: Mapping[str, Integers], pace: Pace
    ) -> None:
        begin = time.perf_counter()
        self._demand, self._tensors, self._pace = demand, tensors, pace
        self._answers_ordered = 0
        with native_errors():
            self.session = Session(connection)
            if self.session.is_server:
                demand.load_weights(self.session, tensors)
            else:
                demand.declare_weights(self.session)
            after = read_meter(self.session)
            self.session.hold_at_most(pace.windows_held)
            if pace.mode is not Mode.JUST_IN_TIME:
                self._order_answer()
        self.set_up = replace(after, seconds=after.seconds - begin)

    def answer(self, inputs: Integers | None, progress: Progress) -> tuple[Opened | None, RunReport]:
        """One answer: what is opened at the client, None at the server."""
        try:
            with native_errors():
                return self._answer(inputs, progress)
        except BaseException:
            with native_errors():
                self.session.burn()
            raise

    def close(self) -> None:
        """Ends the connection, in good order if nothing is under way; the run is used up."""
        self.session.close()

    def _answer(self, inputs: Integers | None, progress: Progress) -> tuple[Opened | None, RunReport]:
        windows = _Windows(self.session, self._demand, self._pace.mode, progress)
        if self._pace.mode is Mode.AHEAD:
            windows.wait_for_all()
        self.session.begin_answer(self._pace.idle_s)
        if self._pace.mode is Mode.OVERLAP:
            self._order_answer()
        windows.start_clock()
        backend = TwoPartyBackend(
            self.session, self._tensors, self._demand.matrices, windows.begin, windows.begin_part
        )
        opened = answer(backend, self._demand.public, inputs)
        report = windows.finish()
        if self._pace.mode is Mode.AHEAD:
            self._order_answer()
        if tuple(backend.reveals) != self._demand.reveals:
            raise PartyError("the run opened other values than its program declares")
        return opened, report

    def _order_answer(self) -> None:
        """Has the next answer's windows prepared as room for them comes."""
        if self._answers_ordered < self._pace.answers:
            self._answers_ordered += 1
            for window in self._demand.windows:
                self.session.order(window.plan)


class _Windows:
    """Takes up and times window after window of one answer."""

    def __init__(self, session: Session, demand: Demand, mode: Mode, progress: Progress) -> None:
        self._session, self._demand, self._mode, self._progress = session, demand, mode, progress
        self._watch = Stopwatch(session)
        self._waited_s = [0.0] * len(demand.windows)
        self._prepared: list[Cost] = []
        self._answered: list[Cost] = []

    def wait_for_all(self) -> None:
        """Until every window lies ready."""
        for number in range(len(self._demand.windows)):
            self._session.wait_ready(number + 1)
            self._waited_s[number] = self._watch.lap().seconds
            self._tell("prepare", number)

    def start_clock(self) -> None:
        """The answer begins now: what the parties waited for each other before counts for no window."""
        self._watch.lap()

    def begin(self, name: str) -> None:
        """The program enters its next window."""
        self._end_last()
        number = len(self._prepared)
        if number >= len(self._demand.windows) or self._demand.windows[number].name != name:
            raise PartyError(f"the program enters the window {name!r} that its trace does not have here")
        if self._mode is Mode.JUST_IN_TIME:
            self._session.order(self._demand.windows[number].plan)
        self._prepared.append(Cost(*self._session.begin_window()))
        self._waited_s[number] += self._watch.lap().seconds
        if self._mode is not Mode.AHEAD:
            self._tell("prepare", number)

    def begin_part(self, kind: str) -> None:
        """The program goes on to another kind of work: a window of its own where the demand says so."""
        if self._demand.by_kind:
            self.begin(part_name(self._demand.windows[len(self._prepared) - 1].name, kind))

    def finish(self) -> RunReport:
        self._end_last()
        rows = zip(self._demand.windows, self._prepared, self._answered, self._waited_s, strict=True)
        windows = tuple(WindowReport(w.name, made, used, waited_s) for w, made, used, waited_s in rows)
        return RunReport(windows, self._mode)

    def _end_last(self) -> None:
        if self._prepared:
            self._session.end_window()
            self._answered.append(self._watch.lap())
            self._tell("answer", len(self._answered) - 1)

    def _tell(self, phase: str, number: int) -> None:
        windows = self._demand.windows
        self._progress(Step(phase, windows[number].name, number + 1, len(windows)))
