"""From what was measured to a price table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import median

import numpy as np

from degreespar._native import Declared, Forecast
from degreespar.bench.cases import Case
from degreespar.bench.fit import nonnegative_prices
from degreespar.bench.price_party import PHASES, PairReadings, Reading
from degreespar.bench.rows import cpu_name, current_commit
from degreespar.cost.phase import (
    ANSWER,
    cpu_seconds,
    delay_seconds,
    flips_of,
    line_seconds,
    phase_units,
    stage_units,
)
from degreespar.degree.price_table import STAGES, Line, PriceTable, UnitPrice, Units

FLOOR_S = 2e-3
"""Cases shorter than this count as if they took so long: their relative noise is large."""
LEAST_CLOCK = 1 / 256
"""Seconds of the clock for one of processor time, at least: no stage keeps more cores busy."""
PULL = 4


@dataclass(frozen=True)
class Observation:
    """One phase of one run: its declared work and the two parties' readings."""

    declared: Declared
    server: Reading
    client: Reading

    @property
    def wall_s(self) -> float:
        """Until both are done."""
        return max(self.server.wall_s, self.client.wall_s)


def price_table(cases: Sequence[Case], repeats: int, readings: PairReadings) -> PriceTable:
    """Fits the prices of every unit that the cases hold, then what the clock makes of them."""
    seen = observations(cases, repeats, readings)
    prices = {phase: _fit_units(seen[phase]) for phase in PHASES}
    busy_cores, flip_s = _fit_clock([one for phase in PHASES for one in seen[phase]], prices, readings.line)
    return PriceTable(
        server=readings.server_machine,
        client=cpu_name(),
        commit=current_commit(),
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        line=readings.line,
        busy_cores=busy_cores,
        flip_s=flip_s,
        prepare=prices["prepare"],
        answer=prices["answer"],
        policy={},
    )


def observations(cases: Sequence[Case], repeats: int, readings: PairReadings) -> dict[str, list[Observation]]:
    """Every phase of every run with what it was declared to take."""
    forecast = Forecast()
    phases: dict[str, list[Observation]] = {phase: [] for phase in PHASES}
    plans = [case.plan() for case in cases for _ in range(repeats)]
    for plan, server, client in zip(plans, readings.server, readings.client, strict=True):
        declared = {"prepare": forecast.prepare(plan), "answer": forecast.answer(plan)}
        for phase in PHASES:
            phases[phase].append(Observation(declared[phase], server[phase], client[phase]))
    return phases


def _fit_units(seen: list[Observation]) -> dict[str, UnitPrice]:
    """Runs of equal work count once, with the median of their readings: the first one finds caches cold."""
    groups: dict[tuple[tuple[str, int], ...], list[Observation]] = {}
    for one in seen:
        work = tuple(sorted(phase_units(one.declared).items()))
        if work:
            groups.setdefault(work, []).append(one)
    units = sorted({unit for work in groups for unit, _ in work})
    matrix = np.array([[dict(work).get(unit, 0) for unit in units] for work in groups], dtype=np.float64)

    def fitted(read: Callable[[Observation], float]) -> list[float]:
        typical = np.array([median(map(read, group)) for group in groups.values()])
        prices: list[float] = nonnegative_prices(matrix, typical, FLOOR_S).tolist()
        return prices

    columns = fitted(lambda one: one.server.cpu_s), fitted(lambda one: one.client.cpu_s)
    return {unit: UnitPrice(*prices) for unit, *prices in zip(units, *columns, strict=True)}


def _fit_clock(
    seen: list[Observation], prices: Mapping[str, Units], line: Line
) -> tuple[dict[str, float], float]:
    """Busy cores by stage, and the seconds of a flip: the clock's reading from processor time and flips.

    Stages are seen mixed, and never quite apart: each is drawn to the cores that all keep busy together
    as if so many cases (`PULL`) had shown that.
    """
    rows = []
    for one in seen:
        stages = dict.fromkeys(STAGES, 0.0)
        for name, down, up, work in one.declared.stages:
            units = stage_units(down, up, work)
            stages[name] = sum(cpu_seconds(prices["answer" if name == ANSWER else "prepare"], units))
        rows.append([*stages.values(), float(flips_of(one.declared))])
    matrix, clock = np.array(rows), np.array([_without_line(one, line) for one in seen])
    together = np.column_stack([matrix[:, :-1].sum(axis=1), matrix[:, -1]])
    common = max(float(nonnegative_prices(together, clock, FLOOR_S)[0]), LEAST_CLOCK)
    pulls = np.repeat(np.eye(len(STAGES), len(STAGES) + 1), PULL, axis=0)
    matrix, clock = np.vstack([matrix, pulls]), np.append(clock, np.full(len(pulls), common))
    *inverse_cores, flip_s = nonnegative_prices(matrix, clock, FLOOR_S).tolist()
    cores = (1 / max(inverse, LEAST_CLOCK) for inverse in inverse_cores)
    return dict(zip(STAGES, cores, strict=True)), flip_s


def _without_line(one: Observation, line: Line) -> float:
    """The wall clock less what the line alone takes; half of it at least is the machines'.

    (On one machine there is no line; over a slow one a preparation hides work behind it.)
    """
    declared = one.declared
    line_s = line_seconds(line, declared.to_client_bytes, declared.to_server_bytes)
    line_s += delay_seconds(line, flips_of(declared))
    return max(one.wall_s - line_s, one.wall_s / 2)
