"""What passes between the parties depends on public facts only."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from degreespar._native import Connection, memory_pair
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ring import Integers
from degreespar.party.oracle import answer
from degreespar.party.report import silent
from degreespar.party.run import Run
from tests.party.conftest import World
from tests.support.made_artifact import GEOMETRY

Events = list[tuple[str, str, int]]
GOLDEN = Path(__file__).parent.parent / "golden" / "reveals.json"
PICTURES = arrays(
    np.int64, (GEOMETRY.patches, GEOMETRY.patch_values), elements=st.integers(-(16 << 12), 16 << 12)
)


def recorded(world: World, picture: Integers) -> tuple[Events, Events]:
    """Every message of prepare and answer as each party saw it: direction, label, bytes."""
    ends = memory_pair()
    events: dict[bool, Events] = {}

    def party(end: Connection, is_server: bool) -> None:
        model = world.server_model if is_server else world.client_model
        end.set_deadline(30.0)
        run = Run(end, model.demand, world.server_model.tensors if is_server else {})
        run.session.record()
        run.answer(None if is_server else picture, just_in_time=False, progress=silent)
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


@settings(max_examples=5, deadline=None)
@given(PICTURES, PICTURES)
def test_any_two_pictures_have_the_same_transcript(world: World, first: Integers, second: Integers) -> None:
    assert recorded(world, first) == recorded(world, second)


@settings(max_examples=3, deadline=None)
@given(PICTURES, PICTURES)
def test_so_have_they_where_tokens_are_selected(
    selecting_world: World, first: Integers, second: Integers
) -> None:
    assert recorded(selecting_world, first) == recorded(selecting_world, second)


def test_a_selection_adds_no_reveal(world: World, selecting_world: World) -> None:
    assert selecting_world.client_model.demand.reveals == world.client_model.demand.reveals


def test_a_transcript_is_not_empty_and_seen_alike_by_both(world: World) -> None:
    server, client = recorded(world, np.zeros((GEOMETRY.patches, GEOMETRY.patch_values), np.int64))
    assert len(server) > 20
    for direction in ("to_client", "to_server"):
        assert [e for e in server if e[0] == direction] == [e for e in client if e[0] == direction]


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
