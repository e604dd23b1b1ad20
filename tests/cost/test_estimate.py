"""Estimates follow their formula, and add up whatever way they are grouped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from degreespar._native import Forecast, Plan
from degreespar.artifact import read_client
from degreespar.bench.geometries import vit_geometry
from degreespar.bench.made_model import made_policy, made_public
from degreespar.bench.networks import NETWORKS
from degreespar.cost.phase import Estimate, cpu_seconds, estimate_phase, flips_of, stage_units
from degreespar.cost.run import RunEstimate, WindowEstimate, estimate_run
from degreespar.degree import PriceError
from degreespar.degree.price_table import STAGES, Line, PriceTable, UnitPrice, default_prices
from degreespar.party.declared import declare
from degreespar.party.demand import Demand
from tests.support.made_artifact import made_artifact

LINE = Line("made", 8e6, 4e6, 0.02)


def plan() -> Plan:
    made = Plan()
    made.less_than(12, [0], 3000)
    made.square(28, 9000)
    made.linear(0, 37, 20, 30, 40)
    return made


def plain(prices: PriceTable) -> PriceTable:
    """Every unit costs a nanosecond at each party; every stage keeps two cores busy; no flip costs."""
    one = UnitPrice(1e-9, 1e-9)
    return replace(
        prices,
        prepare=dict.fromkeys(prices.prepare, one),
        answer=dict.fromkeys(prices.answer, one),
        busy_cores=dict.fromkeys(STAGES, 2.0),
        flip_s=0.0,
    )


def test_a_phase_is_its_stages_and_its_flips() -> None:
    table, forecast = plain(default_prices()), Forecast()
    made = forecast.prepare(plan())
    seconds = 0.0
    for _, down, up, work in made.stages:
        units = sum(stage_units(down, up, work).values())
        seconds += max(2 * units * 1e-9 / 2, 8 * down / 8e6, 8 * up / 4e6)
    predicted = estimate_phase(made, table, LINE)
    assert predicted.seconds == pytest.approx(seconds + flips_of(made) * 0.01)
    used = forecast.answer(plan())
    ((_, down, up, work),) = used.stages
    work_s = sum(stage_units(down, up, work).values()) * 1e-9
    line_s = max(8 * down / 8e6, 8 * up / 4e6)
    predicted = estimate_phase(used, table, LINE)
    assert predicted.seconds == pytest.approx(work_s + line_s + flips_of(used) * 0.01)
    assert predicted.work_s == pytest.approx(work_s)


def test_without_a_line_only_the_machines_count() -> None:
    table, made = plain(default_prices()), Forecast().prepare(plan())
    alone = estimate_phase(made, table, None)
    assert alone.seconds == pytest.approx(alone.work_s)
    assert alone.seconds == estimate_phase(made, table, replace(LINE, name="none")).seconds


def test_a_unit_without_a_price_is_named() -> None:
    table = default_prices()
    with pytest.raises(PriceError, match="no price for 'made cot'"):
        cpu_seconds({"byte": table.prepare["byte"]}, {"made cot": 1, "byte": 1})


def test_grouping_keeps_the_sum_and_the_declared_bytes(tmp_path: Path) -> None:
    made_artifact(tmp_path)
    demand = Demand.of(read_client(tmp_path)[0], by_kind=True)
    run = estimate_run(demand, default_prices(), NETWORKS["wan2"].line)
    both = run.prepare + run.answer
    for groups in (run.layers, run.kinds):
        summed = [part.total for part in groups.values()]
        assert sum(part.seconds for part in summed) == pytest.approx(both.seconds)
        assert sum(part.flips for part in summed) == both.flips
    windows = declare(demand)
    declared = sum(w.prepare.to_client_bytes + w.answer.to_client_bytes for w in windows)
    assert both.to_client_bytes == declared
    assert list(run.layers) == ["embedding", "layer 1", "layer 2", "head"]


def test_slower_lines_and_higher_degrees_never_cost_less() -> None:
    table, geometry = default_prices(), vit_geometry("vit-ti", layers=2, tokens=17)

    def seconds(network: str, squarings: int, order: int) -> float:
        public = made_public("made", geometry, made_policy(geometry, squarings, order))
        run = estimate_run(Demand.of(public), table, NETWORKS[network].line)
        return (run.prepare + run.answer).seconds

    by_line = [seconds(network, 6, 4) for network in ("none", "lan", "wan1", "wan2")]
    assert by_line == sorted(by_line)
    by_degree = [seconds("lan", *degrees) for degrees in ((0, 1), (2, 2), (4, 4), (6, 6))]
    assert by_degree == sorted(by_degree)


def test_the_demo_s_model_has_a_price_for_everything() -> None:
    public = read_client(Path(__file__).parent.parent.parent / "demo" / "model")[0]
    run = estimate_run(Demand.of(public), default_prices(), None)
    assert run.answer.seconds > 0


def test_overlapping_is_never_slower_than_one_after_another_nor_faster_than_its_parts(tmp_path: Path) -> None:
    made_artifact(tmp_path)
    demand = Demand.of(read_client(tmp_path)[0])
    for network in ("none", "lan", "wan2"):
        run = estimate_run(demand, default_prices(), NETWORKS[network].line)
        both = run.prepare + run.answer
        least = max(run.prepare.seconds, run.answer.seconds, both.work_s, both.line_s)
        assert least <= run.overlapped_seconds * (1 + 1e-9)
        assert run.overlapped_seconds <= both.seconds * (1 + 1e-9)


def test_two_windows_overlap_as_the_formula_says() -> None:
    one = WindowEstimate("a", Estimate(seconds=1.0), Estimate(seconds=2.0, work_s=1.0, line_s=1.5))
    two = WindowEstimate("b", Estimate(seconds=2.5, work_s=2.0, line_s=0.5), Estimate(seconds=4.0))
    assert RunEstimate((one, two)).overlapped_seconds == 1.0 + 3.0 + 4.0
    assert RunEstimate((one,)).overlapped_seconds == 3.0
    assert RunEstimate(()).overlapped_seconds == 0.0
