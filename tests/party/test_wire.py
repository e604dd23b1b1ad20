"""Bytes that no client of ours would send, under an identity that the server trusts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from degreespar._native import Connection, Session, memory_pair
from degreespar.party.handshake import PROTOCOL, policy_digest
from tests.party.conftest import World
from tests.party.test_answers import ask, some_pictures
from tests.support.raw_client import GREETING, RawClient, chunk, frame

Eventually = Callable[[Callable[[], bool]], None]


def _hello(world: World) -> bytes:
    model = world.client_model
    facts = {"artifact": model.digest, "policy": policy_digest(model.public.policy)}
    return json.dumps(
        {
            "protocol": PROTOCOL,
            "answers": 1,
            "mode": "overlap",
            "windows_held": 2,
            "by_kind": False,
            "tokens": 5,
            **facts,
        }
    ).encode()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (b"GET / HT", "does not speak DegreeSpar"),
        (b"DGSPAR\x01\x00", "version 1 of the wire format, this party version 2"),
        (b"DGSP", "closed"),
        (GREETING + frame("hello", b"{}", length=2**62), "hello"),
        (GREETING + frame("hello", b"{}", length=3), "closed"),
        (GREETING + frame("hello", b"{}")[:18], "closed"),
        (GREETING + frame("welcome", b"{}"), "out of order"),
        (GREETING + frame("hello", b"{}", depth=77), "hello"),
        (GREETING, "closed"),
        (GREETING + chunk(b"x", stream=7), "unknown stream"),
        (GREETING + chunk(b"x", kind=9), "unknown kind"),
        (GREETING + chunk(b""), "chunk of 0 bytes"),
        (GREETING + chunk(bytes(8), kind=1), "taken back"),
        (GREETING + chunk(bytes(1 << 16)) * 65, "hello"),
    ],
)
def test_the_server_ends_it_in_one_sentence_and_answers_the_next(
    world: World, eventually: Eventually, tmp_path: Path, words: bytes, sentence: str
) -> None:
    with world.serving() as place:
        with RawClient(place.address, world.client, tmp_path) as visitor:
            visitor.send(words)
        eventually(lambda: any("failed" in line for line in place.log))
        done = ask(world, place.address, some_pictures(1))
    failures = [line for line in place.log if "failed" in line]
    assert len(failures) == 1
    assert sentence in failures[0]
    assert "\n" not in failures[0]
    assert len(done.answers) == 1


def test_a_wrong_length_inside_the_protocol_is_named(
    world: World, eventually: Eventually, tmp_path: Path
) -> None:
    with world.serving() as place:
        for label in _set_up_labels_of_a_client():
            count = len(place.log)
            with RawClient(place.address, world.client, tmp_path) as visitor:
                visitor.send(GREETING + frame("hello", _hello(world)))
                assert visitor.read(len(GREETING)) == GREETING
                assert json.loads(visitor.read_frame())["answers"] == 1
                visitor.send(frame(label, b"x", stream=1))
                visitor.read_to_the_end()
            eventually(lambda seen=count: any("failed" in line for line in place.log[seen:]))
        done = ask(world, place.address, some_pictures(1))
    failures = [line for line in place.log if "failed" in line]
    # Whichever of the labels the server waited for, its size was wrong; the others came out of order.
    assert sum("1 bytes for" in line for line in failures) == 1
    assert all("1 bytes for" in line or "out of order" in line for line in failures)
    assert len(done.answers) == 1


def _set_up_labels_of_a_client() -> list[str]:
    server, client = memory_pair()
    kept: list[Session] = []

    def keep(end: Connection) -> None:
        end.set_deadline(30.0)
        kept.append(Session(end))

    thread = threading.Thread(target=keep, args=(server,))
    thread.start()
    session = Session(client)
    thread.join()
    return [label for label, (sent, _, _) in session.traffic_by_label().items() if sent]
