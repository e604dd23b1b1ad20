"""Predicted cost of a whole answer, window by window."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from degreespar.cost.phase import Estimate, estimate_phase
from degreespar.degree.price_table import Line, PriceTable
from degreespar.engine.trace import PART_SEPARATOR
from degreespar.party.declared import declare
from degreespar.party.demand import Demand


@dataclass(frozen=True)
class WindowEstimate:
    """Both phases of a window."""

    name: str
    prepare: Estimate
    answer: Estimate

    @property
    def total(self) -> Estimate:
        """One after the other."""
        return self.prepare + self.answer


@dataclass(frozen=True)
class RunEstimate:
    """One answer; its phases follow each other."""

    windows: tuple[WindowEstimate, ...]

    @property
    def prepare(self) -> Estimate:
        """Making correlations."""
        return total(window.prepare for window in self.windows)

    @property
    def answer(self) -> Estimate:
        """The online part."""
        return total(window.answer for window in self.windows)

    @property
    def overlapped_seconds(self) -> float:
        """The whole run, if each window is prepared while the one before it answers.

        The two share cores and line, so a pair takes what the longer one takes alone, or what both
        need of the cores, or of the line, whichever is most.
        """
        if not self.windows:
            return 0.0
        first, last = self.windows[0], self.windows[-1]
        pairs = zip(self.windows, self.windows[1:], strict=False)
        between = sum(_together_s(before.answer, after.prepare) for before, after in pairs)
        return first.prepare.seconds + between + last.answer.seconds

    @property
    def layers(self) -> dict[str, WindowEstimate]:
        """Kinds of work added up."""
        return self._grouped(lambda name: name.partition(PART_SEPARATOR)[0])

    @property
    def kinds(self) -> dict[str, WindowEstimate]:
        """Layers added up; windows that are no kind of work keep their names."""
        return self._grouped(lambda name: name.partition(PART_SEPARATOR)[2] or name)

    def to_json(self) -> dict[str, object]:
        """For `--json`: as a run's own report, and more."""
        return {
            "total": asdict(self.prepare + self.answer),
            "prepare": asdict(self.prepare),
            "answer": asdict(self.answer),
            "overlapped_seconds": self.overlapped_seconds,
            "windows": [asdict(window) for window in self.windows],
        }

    def _grouped(self, key: Callable[[str], str]) -> dict[str, WindowEstimate]:
        groups: dict[str, WindowEstimate] = {}
        for window in self.windows:
            name = key(window.name)
            so_far = groups.get(name, WindowEstimate(name, Estimate(), Estimate()))
            groups[name] = WindowEstimate(
                name, so_far.prepare + window.prepare, so_far.answer + window.answer
            )
        return groups


def _together_s(one: Estimate, other: Estimate) -> float:
    return max(one.seconds, other.seconds, one.work_s + other.work_s, one.line_s + other.line_s)


def total(estimates: Iterable[Estimate]) -> Estimate:
    """The sum."""
    return sum(estimates, Estimate())


def estimate_run(demand: Demand, table: PriceTable, line: Line | None) -> RunEstimate:
    """The first answer of a session."""
    return RunEstimate(
        tuple(
            WindowEstimate(
                window.name,
                estimate_phase(window.prepare, table, line),
                estimate_phase(window.answer, table, line),
            )
            for window in declare(demand)
        )
    )
