"""Prices come out of what was measured, and tables come back from their files unchanged."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from degreespar._native import Identity
from degreespar.bench import cases as made
from degreespar.bench.fit import nonnegative_prices
from degreespar.bench.price_cases import price_cases
from degreespar.bench.price_fit import observations, price_table
from degreespar.bench.price_party import (
    PHASES,
    PairReadings,
    PriceRunError,
    Reading,
    ask_prices,
    serve_prices,
    silent,
)
from degreespar.cost.phase import cpu_seconds, phase_units
from degreespar.degree import PriceError
from degreespar.degree.price_table import (
    STAGES,
    Line,
    PriceTable,
    default_prices,
    read_prices,
    write_prices,
)
from degreespar.party.client import dial
from degreespar.party.server import open_door

LINE = Line("none", 1e9, 2e9, 1e-4)
CASES = [made.mux(24, 500), made.mux(24, 40_000), made.square(28, 3000), made.linear(37, 5, 20, 30)]


def test_exact_totals_give_the_prices_back() -> None:
    rng = np.random.default_rng(3)
    work, prices = rng.uniform(0, 100, (30, 6)), np.array([1e-9, 0.0, 2e-6, 3e-3, 1.0, 5e-5])
    fitted = nonnegative_prices(work, work @ prices, floor_s=1e-6)
    assert fitted == pytest.approx(prices, rel=1e-4, abs=1e-8)


def test_no_price_is_negative_even_where_least_squares_would_have_one() -> None:
    work = np.array([[1.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    seconds = np.array([1.0, 2.0, 3.0])
    assert np.linalg.lstsq(work, seconds, rcond=None)[0].min() < 0
    assert nonnegative_prices(work, seconds, 1e-9).min() == 0


def made_up(readings: Callable[[int], Reading], repeats: int = 2) -> PairReadings:
    runs = [{phase: readings(number) for phase in PHASES} for number in range(len(CASES) * repeats)]
    return PairReadings("a machine", LINE, runs, runs)


def test_a_table_prices_every_unit_of_its_cases_and_predicts_what_it_saw() -> None:
    blank = made_up(lambda number: Reading(1.0, 1.0))
    seen = observations(CASES, 2, blank)["prepare"]
    true_cpu = [sum(phase_units(one.declared).values()) * 1e-6 for one in seen]
    runs = [{"prepare": Reading(cpu, cpu), "answer": Reading(1e-3, 1e-3)} for cpu in true_cpu]
    table = price_table(CASES, 2, replace(blank, server=runs, client=runs))
    for one, cpu in zip(seen, true_cpu, strict=True):
        predicted = cpu_seconds(table.prepare, phase_units(one.declared))
        assert predicted == pytest.approx((cpu, cpu), rel=0.02, abs=1e-4)
    # both parties are busy all the time: two cores
    assert table.busy_cores["reply"] == pytest.approx(2.0, rel=0.1)


def test_the_median_of_equal_runs_counts() -> None:
    noisy = made_up(lambda number: Reading(1.0, 50.0 if number % 3 == 2 else 1.0), repeats=3)
    calm = made_up(lambda number: Reading(1.0, 1.0), repeats=3)
    assert price_table(CASES, 3, noisy).answer == price_table(CASES, 3, calm).answer


def test_two_parties_measure_each_other_over_a_real_connection() -> None:
    server, client = Identity.generate("server"), Identity.generate("client")
    listener = open_door("127.0.0.1:0", server, [client.fingerprint])

    def answer() -> None:
        ends = [listener.accept(20.0, 20.0) for _ in range(2)]
        assert ends[0] is not None and ends[1] is not None
        serve_prices(ends[0], ends[1], CASES)

    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(answer)
        control, end = (dial(listener.address, client, [server.fingerprint], 20.0) for _ in range(2))
        readings = ask_prices(control, end, CASES, 2, "loop", silent)
        serving.result(30)
    assert len(readings.server) == len(readings.client) == 2 * len(CASES)
    assert all(run["prepare"].wall_s > 0 for run in readings.client)
    assert readings.line.round_trip_s > 0
    table = price_table(CASES, 2, readings)
    assert {"made cot", "byte"} <= set(table.prepare)


def test_a_client_of_other_cases_is_refused() -> None:
    server, client = Identity.generate("server"), Identity.generate("client")
    listener = open_door("127.0.0.1:0", server, [client.fingerprint])
    failed = threading.Event()

    def answer() -> None:
        ends = [listener.accept(20.0, 20.0) for _ in range(2)]
        assert ends[0] is not None and ends[1] is not None
        with pytest.raises(PriceRunError, match="different versions"):
            serve_prices(ends[0], ends[1], CASES[:2])
        failed.set()

    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(answer)
        control, end = (dial(listener.address, client, [server.fingerprint], 20.0) for _ in range(2))
        control.send("hello", json.dumps({"greeting": "x", "cases": 2, "repeats": 1}).encode())
        serving.result(30)
        assert failed.is_set()
        del control, end


def test_the_default_table_prices_what_the_cases_hold() -> None:
    cases, table = price_cases(), default_prices()
    seen = observations(cases, 1, _blank(len(cases)))
    for phase, prices in (("prepare", table.prepare), ("answer", table.answer)):
        assert {unit for one in seen[phase] for unit in phase_units(one.declared)} == set(prices)


def _blank(count: int) -> PairReadings:
    runs = [{phase: Reading(1.0, 1.0) for phase in PHASES}] * count
    return PairReadings("m", LINE, runs, runs)


def test_a_table_comes_back_from_its_file(tmp_path: Path) -> None:
    table = default_prices()
    write_prices(table, tmp_path / "prices.json")
    assert read_prices(tmp_path / "prices.json") == table
    assert set(table.busy_cores) == set(STAGES)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda json_: json_.pop("line"), "lacks the key 'line'"),
        (lambda json_: json_.update(format="x"), "no file of the format"),
        (lambda json_: json_["prepare"].pop("byte"), "must price the unit byte"),
        (lambda json_: json_["answer"]["byte"].update(client_cpu_s=-1.0), "from 0 up"),
        (lambda json_: json_["busy_cores"].update(reply=0.0), "must keep cores busy"),
        (lambda json_: json_["line"].update(round_trip_s="x"), "must be a number"),
    ],
)
def test_a_wrong_table_is_one_sentence(change: Callable[[dict], object], sentence: str) -> None:
    value = json.loads(json.dumps(default_prices().to_json()))
    change(value)
    with pytest.raises(PriceError, match=sentence):
        PriceTable.from_json(value)


def test_a_file_that_is_no_table_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text("{", encoding="utf-8")
    with pytest.raises(PriceError, match="cannot be read as a price table"):
        read_prices(tmp_path / "prices.json")
