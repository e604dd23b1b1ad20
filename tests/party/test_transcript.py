"""What passes between the parties depends on public facts only."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from degreespar._native import Connection, memory_pair
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ring import Integers
from degreespar.party.oracle import answer
from degreespar.party.pace import Mode, Pace
from degreespar.party.report import silent
from degreespar.party.run import Run
from tests.party.conftest import World
from tests.support.made_artifact import GEOMETRY

Events = list[tuple[str, str, int]]
Streams = tuple[Events, Events]
"""Of preparations and of answers."""
GOLDEN = Path(__file__).parent.parent / "golden" / "reveals.json"
PICTURES = arrays(
    np.int64, (GEOMETRY.patches, GEOMETRY.patch_values), elements=st.integers(-(16 << 12), 16 << 12)
)


def recorded(world: World, pictures: list[Integers], mode: Mode) -> tuple[Streams, Streams]:
    """Every message of prepare and answer as each party saw it: direction, label, bytes."""
    ends = memory_pair()
    events: dict[bool, Streams] = {}

    def party(end: Connection, is_server: bool) -> None:
        model = world.server_model if is_server else world.client_model
        end.set_deadline(30.0)
        end.record()
        pace = Pace(mode, mode.windows_held(len(model.demand.windows)), len(pictures))
        run = Run(end, model.demand, world.server_model.tensors if is_server else {}, pace)
        for picture in pictures:
            run.answer(None if is_server else picture, silent)
        events[is_server] = run.session.take_recording()

    threads = [
        threading.Thread(target=party, args=(ends[0], True)),
        threading.Thread(target=party, args=(ends[1], False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return events[True], events[False]


def of_one_direction(events: Events, direction: str) -> Events:
    return [event for event in events if event[0] == direction]


@pytest.mark.parametrize("mode", Mode)
@settings(max_examples=3, deadline=None)
@given(first=st.lists(PICTURES, min_size=2, max_size=2), second=st.lists(PICTURES, min_size=2, max_size=2))
def test_any_two_inputs_have_the_same_transcript_on_each_stream(
    world: World, mode: Mode, first: list[Integers], second: list[Integers]
) -> None:
    for ours, theirs in zip(recorded(world, first, mode), recorded(world, second, mode), strict=True):
        assert ours == theirs


def test_the_transcript_is_the_same_in_every_mode(world: World) -> None:
    pictures = [np.zeros((GEOMETRY.patches, GEOMETRY.patch_values), np.int64)] * 2
    by_mode = [recorded(world, pictures, mode) for mode in Mode]
    assert by_mode.count(by_mode[0]) == len(by_mode)


@settings(max_examples=3, deadline=None)
@given(PICTURES, PICTURES)
def test_so_have_they_where_tokens_are_selected(
    selecting_world: World, first: Integers, second: Integers
) -> None:
    ours, theirs = (recorded(selecting_world, [picture], Mode.OVERLAP) for picture in (first, second))
    assert ours == theirs


def test_a_selection_adds_no_reveal(world: World, selecting_world: World) -> None:
    assert selecting_world.client_model.demand.reveals == world.client_model.demand.reveals


def test_a_transcript_is_not_empty_and_seen_alike_by_both(world: World) -> None:
    picture = np.zeros((GEOMETRY.patches, GEOMETRY.patch_values), np.int64)
    server, client = recorded(world, [picture], Mode.OVERLAP)
    for ours, theirs in zip(server, client, strict=True):
        assert len(ours) > 20
        for direction in ("to_client", "to_server"):
            assert of_one_direction(ours, direction) == of_one_direction(theirs, direction)


def test_the_reveals_of_every_program_are_the_committed_ones(world: World) -> None:
    committed = json.loads(GOLDEN.read_text(encoding="utf-8"))
    demand = world.client_model.demand
    assert list(demand.reveals) == committed["vit"]
    assert len(demand.reveals) == 1


def test_the_clear_engine_reveals_the_same(world: World) -> None:
    model = world.server_model
    backend = ClearBackend(model.tensors)
    answer(backend, model.public, np.zeros((GEOMETRY.patches, GEOMETRY.patch_values), np.int64))
    assert tuple(backend.reveals) == model.demand.reveals
