"""Both phases of every window of a whole run cost what is declared before it starts, exactly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from degreespar._native import Connection, Declared, Forecast, memory_pair
from degreespar.party.declared import declare
from degreespar.party.demand import Demand
from degreespar.party.pace import Mode, Pace
from degreespar.party.report import Cost, RunReport, silent
from degreespar.party.run import Run
from tests.party.conftest import World
from tests.support.made_artifact import GEOMETRY

ANSWERS = 2


def reports(world: World, demand: Demand, mode: Mode) -> tuple[list[RunReport], list[RunReport]]:
    """Of every answer, at the server and at the client."""
    picture = np.zeros((GEOMETRY.patches, GEOMETRY.patch_values), np.int64)

    def party(end: Connection, is_server: bool) -> list[RunReport]:
        end.set_deadline(30.0)
        pace = Pace(mode, mode.windows_held(len(demand.windows)), ANSWERS)
        run = Run(end, demand, world.server_model.tensors if is_server else {}, pace)
        shown = None if is_server else picture
        return [run.answer(shown, silent)[1] for _ in range(ANSWERS)]

    with ThreadPoolExecutor(2) as pool:
        ends = zip(memory_pair(), (True, False), strict=True)
        server, client = (pool.submit(party, *end) for end in ends)
        return server.result(), client.result()


@pytest.mark.parametrize("by_kind", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_every_phase_of_every_window_is_as_declared(world: World, by_kind: bool, mode: Mode) -> None:
    demand = Demand.of(world.client_model.public, by_kind)
    forecast = Forecast()
    declared = [declare(demand, forecast) for _ in range(ANSWERS)]
    flips: tuple[Callable[[Declared], int], ...] = (lambda d: d.server_flips, lambda d: d.client_flips)
    for ran, read_flips in zip(reports(world, demand, mode), flips, strict=True):
        for report, windows in zip(ran, declared, strict=True):
            for seen, said in zip(report.windows, windows, strict=True):
                assert seen.name == said.name
                check(seen.prepare, said.prepare, read_flips, f"prepare {seen.name}")
                check(seen.answer, said.answer, read_flips, f"answer {seen.name}")


def check(seen: Cost, said: Declared, read_flips: Callable[[Declared], int], where: str) -> None:
    metered = (seen.to_client_bytes, seen.to_server_bytes, seen.flips)
    assert metered == (said.to_client_bytes, said.to_server_bytes, read_flips(said)), where


def test_the_work_names_every_kind_of_correlation(world: World) -> None:
    demand = Demand.of(world.client_model.public)
    kinds = {kind for window in demand.windows for kind, _, _ in window.plan.correlations()}
    assert kinds >= {"random OT batch", "comparison leaf batch", "linear correlation", "matrix triple"}
    windows = declare(demand)
    seen = [stage for window in windows for stage in window.prepare.stages]
    names = list(dict.fromkeys(name for name, _, _, _ in seen))
    assert names == ["request", "ots", "gilboa", "reply"]
    units = {unit for _, _, _, work in seen for unit in work}
    assert units >= {"made cot", "ot", "leaf choice", "leaf", "and pair"}
    assert any(unit.startswith("narrow ") and unit.endswith(" multiply-add") for unit in units)
