"""Private answers of a small made model: equal to the oracle's, and costs as declared."""

from __future__ import annotations

import time

import numpy as np
import pytest

from degreespar.engine.ring import Integers
from degreespar.party.client import Classification, ClientModel, classify, dial
from degreespar.party.oracle import Oracle
from degreespar.party.pace import Mode
from degreespar.party.report import Step
from tests.party.conftest import World
from tests.support.made_artifact import GEOMETRY, LABELS

# Each truncation may differ by one unit of 2^-12, and later layers amplify it: 0.001 is usual here.
LARGEST_GAP = 0.01


def some_pictures(count: int, seed: int = 9) -> Integers:
    shape = (count, GEOMETRY.patches, GEOMETRY.patch_values)
    return np.random.default_rng(seed).integers(-8192, 8193, shape)


def ask(world: World, address: str, pictures: Integers, mode: Mode = Mode.OVERLAP) -> Classification:
    connection = dial(address, world.client, [world.server.fingerprint], deadline_s=30.0)
    return classify(connection, world.client_model, list(pictures), mode)


@pytest.mark.parametrize("mode", Mode)
def test_private_answers_are_the_oracle_s(world: World, mode: Mode) -> None:
    pictures = some_pictures(3)
    expected = Oracle(world.server_model.public, world.server_model.tensors).scores(pictures)
    with world.serving(deadline_s=30.0) as place:
        done = ask(world, place.address, pictures, mode)
    scores = np.stack([answer.scores for answer in done.answers])
    assert np.abs(scores - expected).max() < LARGEST_GAP
    assert [answer.label for answer in done.answers] == [LABELS[i] for i in expected.argmax(axis=1)]
    assert all(answer.probabilities.sum() == pytest.approx(1.0) for answer in done.answers)
    assert place.tally is not None
    assert (place.tally.served, place.tally.failed, place.tally.answers) == (1, 0, 3)


def test_private_answers_of_a_model_that_selects_tokens(selecting_world: World) -> None:
    pictures = some_pictures(3)
    model = selecting_world.server_model
    expected = Oracle(model.public, model.tensors).scores(pictures)
    with selecting_world.serving(deadline_s=30.0) as place:
        done = ask(selecting_world, place.address, pictures)
    assert np.abs(np.stack([answer.scores for answer in done.answers]) - expected).max() < LARGEST_GAP
    assert done.answers[0].report.answer.to_client_bytes == model.demand.bytes_to_client


def test_the_answer_costs_what_the_trace_declares(world: World) -> None:
    with world.serving(deadline_s=30.0) as place:
        done = ask(world, place.address, some_pictures(1))
    demand, report = world.client_model.demand, done.answers[0].report
    assert [w.name for w in report.windows] == ["embedding", "layer 1", "layer 2", "head"]
    for window, seen in zip(demand.windows[:-1], report.windows[:-1], strict=True):
        assert seen.answer.to_client_bytes == window.plan.bytes_to_client, window.name
        assert seen.answer.to_server_bytes == window.plan.bytes_to_server, window.name
    assert report.answer.to_client_bytes == demand.bytes_to_client
    assert report.answer.to_server_bytes == demand.bytes_to_server
    assert 0 < report.answer.flips <= demand.flips
    assert report.prepare.to_server_bytes > 0


def test_every_kind_of_work_is_reported_apart_on_request(world: World) -> None:
    pictures = some_pictures(1)
    model = ClientModel.load(world.folder, by_kind=True)
    with world.serving(deadline_s=30.0) as place:
        connection = dial(place.address, world.client, [world.server.fingerprint], deadline_s=30.0)
        done = classify(connection, model, list(pictures), Mode.JUST_IN_TIME)
    expected = Oracle(world.server_model.public, world.server_model.tensors).scores(pictures)
    assert np.abs(done.answers[0].scores - expected[0]).max() < LARGEST_GAP
    report, plain = done.answers[0].report, world.client_model.demand
    kinds = {tuple(window.name.partition("/")[::2]) for window in report.windows}
    assert {kind for name, kind in kinds if name == "layer 1"} == {
        "", "norm", "linear", "attention", "softmax", "gelu"
    }  # fmt: skip
    assert report.answer.to_client_bytes == plain.bytes_to_client
    assert report.answer.to_server_bytes == plain.bytes_to_server


def test_both_parties_compute_the_same_demand(world: World) -> None:
    server, client = world.server_model.demand, world.client_model.demand
    assert [w.plan.events() for w in server.windows] == [w.plan.events() for w in client.windows]
    assert server.matrices == client.matrices


@pytest.mark.parametrize("mode", Mode)
def test_progress_names_every_window_of_both_phases(world: World, mode: Mode) -> None:
    steps: list[Step] = []
    with world.serving(deadline_s=30.0) as place:
        connection = dial(place.address, world.client, [world.server.fingerprint], 30.0)
        classify(connection, world.client_model, list(some_pictures(1)), mode, progress=steps.append)
    phases, numbers = ("prepare", "answer"), (1, 2, 3, 4)
    ahead = [(phase, number) for phase in phases for number in numbers]
    in_turn = [(phase, number) for number in numbers for phase in phases]
    assert [(step.phase, step.number) for step in steps] == (ahead if mode is Mode.AHEAD else in_turn)


@pytest.mark.parametrize("mode", Mode)
def test_seconds_of_a_report_add_up(world: World, mode: Mode) -> None:
    with world.serving(deadline_s=30.0) as place:
        connection = dial(place.address, world.client, [world.server.fingerprint], 30.0)
        begin = time.perf_counter()
        done = classify(connection, world.client_model, list(some_pictures(2)), mode)
        passed_s = time.perf_counter() - begin
    reports = [answer.report for answer in done.answers]
    spent_s = done.set_up.seconds + sum(report.wall_s for report in reports)
    assert 0 < spent_s <= passed_s
    for report in reports:
        assert report.wall_s == pytest.approx(report.answer.seconds + sum(w.waited_s for w in report.windows))
        assert all(window.prepare.seconds > 0 and window.waited_s >= 0 for window in report.windows)
        if mode is Mode.JUST_IN_TIME:
            assert report.wall_s >= report.prepare.seconds
        assert report.to_json()["mode"] == mode.value
