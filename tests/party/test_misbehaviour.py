"""Whatever one client does, it ends within the deadline in one sentence, and the next one is answered."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from degreespar._native import Connection, Identity, Listener
from degreespar.party.client import ClientModel, classify, dial
from degreespar.party.errors import PartyError, RefusedError
from degreespar.party.handshake import MAX_MESSAGE_BYTES, Agreement, greet, policy_digest
from degreespar.party.pace import Mode
from tests.party.conftest import DEADLINE_S, Place, World
from tests.party.test_answers import ask, some_pictures
from tests.support.made_artifact import made_artifact

Eventually = Callable[[Callable[[], bool]], None]


def _raw(place: Place) -> socket.socket:
    host, port = place.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def _dial(world: World, place: Place) -> Connection:
    return dial(place.address, world.client, [world.server.fingerprint], 30.0)


def _wanted(world: World, answers: int = 1) -> Agreement:
    model = world.client_model
    return Agreement(
        model.digest,
        policy_digest(model.public.policy),
        answers,
        Mode.OVERLAP,
        windows_held=2,
        by_kind=False,
        tokens=model.public.geometry.tokens,
    )


def _wait_for_the_end(visitor: socket.socket) -> None:
    with suppress(ConnectionResetError):
        while visitor.recv(4096):
            pass


def _speaks_another_protocol(world: World, place: Place) -> None:
    with _raw(place) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        _wait_for_the_end(visitor)


def _says_nothing(world: World, place: Place) -> None:
    with _raw(place) as visitor:
        _wait_for_the_end(visitor)


def _closes_at_once(world: World, place: Place) -> None:
    _raw(place).close()


def _has_no_certificate(world: World, place: Place) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(OSError), _raw(place) as visitor, context.wrap_socket(visitor) as tls:
        if not tls.recv(1):
            raise ConnectionResetError


def _is_a_stranger(world: World, place: Place) -> None:
    with pytest.raises(PartyError, match="certificate"):
        dial(place.address, Identity.generate("client"), [world.server.fingerprint], 30.0)


def _distrusts_the_server(world: World, place: Place) -> None:
    with pytest.raises(PartyError, match="not among the trusted"):
        dial(place.address, world.client, ["0" * 64], 30.0)


def _is_silent_after_authentication(world: World, place: Place) -> None:
    connection = _dial(world, place)
    connection.set_deadline(30.0)
    with pytest.raises(Exception, match="closed"):
        connection.receive("welcome", 10)


def _sends_a_wrong_length(world: World, place: Place) -> None:
    _dial(world, place).send("hello", bytes(MAX_MESSAGE_BYTES + 1))


def _sends_a_wrong_label(world: World, place: Place) -> None:
    _dial(world, place).send("welcome", b"{}")


def _sends_garbage_for_a_hello(world: World, place: Place) -> None:
    connection = _dial(world, place)
    connection.send("hello", b"\x00garbage")
    with pytest.raises(RefusedError, match="not JSON"):
        greet(_Deaf(connection), _wanted(world))


def _leaves_after_the_handshake(world: World, place: Place) -> None:
    greet(_dial(world, place), _wanted(world))


def _sends_garbage_after_the_handshake(world: World, place: Place) -> None:
    connection = _dial(world, place)
    greet(connection, _wanted(world))
    connection.send("hello", b"once more")


def _leaves_between_two_answers(world: World, place: Place) -> None:
    connection = _dial(world, place)

    def leave(step: object) -> None:
        raise RuntimeError("the client crashes")

    with pytest.raises(RuntimeError):
        classify(connection, world.client_model, list(some_pictures(2)), progress=leave)


def _wants_too_many_answers(world: World, place: Place) -> None:
    with pytest.raises(RefusedError, match="at most 5 answers"):
        greet(_dial(world, place), _wanted(world, answers=6))


class _Deaf:
    """Receives but no longer sends: the hello has been said."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, label: str, payload: bytes) -> None:
        pass

    def receive(self, label: str, at_most_bytes: int) -> bytes:
        return self._connection.receive(label, at_most_bytes)


@pytest.mark.parametrize(
    "misbehaves",
    [
        _speaks_another_protocol,
        _says_nothing,
        _closes_at_once,
        _has_no_certificate,
        _is_a_stranger,
        _distrusts_the_server,
        _is_silent_after_authentication,
        _sends_a_wrong_length,
        _sends_a_wrong_label,
        _sends_garbage_for_a_hello,
        _leaves_after_the_handshake,
        _sends_garbage_after_the_handshake,
        _leaves_between_two_answers,
        _wants_too_many_answers,
    ],
)
def test_the_server_says_one_sentence_and_answers_the_next(
    world: World, eventually: Eventually, misbehaves: Callable[[World, Place], None]
) -> None:
    with world.serving() as place:
        misbehaves(world, place)
        eventually(lambda: any("failed" in line for line in place.log))
        done = ask(world, place.address, some_pictures(1))
    failures = [line for line in place.log if "failed" in line]
    assert len(failures) == 1
    assert failures[0].startswith("a client failed: ")
    assert "\n" not in failures[0]
    assert len(done.answers) == 1
    assert place.tally is not None
    assert (place.tally.served, place.tally.failed) == (1, 1)


def test_another_artifact_is_refused_on_both_sides(
    world: World, tmp_path: Path, eventually: Eventually
) -> None:
    made_artifact(tmp_path, seed=6)
    with world.serving() as place:
        with pytest.raises(RefusedError, match="this server's artifact is"):
            classify(_dial(world, place), ClientModel.load(tmp_path), list(some_pictures(1)))
        eventually(lambda: any("artifact" in line for line in place.log))
        assert len(ask(world, place.address, some_pictures(1)).answers) == 1


def test_nothing_listens(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(PartyError, match="nothing listens"):
        dial(f"127.0.0.1:{port}", world.client, [world.server.fingerprint], DEADLINE_S)


@pytest.mark.parametrize(
    "first_words", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x16\x03\x03\x00\x05hello"]
)
def test_a_client_leaves_a_server_of_another_kind(world: World, first_words: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(30)
        address = "{}:{}".format(*other.getsockname())
        outcome: list[Exception] = []
        accepted: list[socket.socket] = []

        def answer() -> None:
            visitor, _ = other.accept()
            accepted.append(visitor)
            visitor.sendall(first_words)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            dial(address, world.client, [world.server.fingerprint], deadline_s=1.0)
        except PartyError as error:
            outcome.append(error)
        thread.join()
        for visitor in accepted:
            visitor.close()
    assert len(outcome) == 1


@pytest.mark.parametrize("says", ["nothing", "goodbye", "garbage", "too much"])
def test_a_client_leaves_a_server_that_misbehaves_in_the_handshake(world: World, says: str) -> None:
    listener = Listener("127.0.0.1:0", world.server, [world.client.fingerprint])
    kept: list[Connection] = []
    stop = threading.Event()

    def misbehave() -> None:
        connection = listener.accept(30.0, 30.0)
        assert connection is not None
        if says == "garbage":
            connection.send("welcome", b"\xff\xff")
        if says == "too much":
            connection.send("welcome", bytes(MAX_MESSAGE_BYTES + 1))
        if says != "goodbye":
            kept.append(connection)
            stop.wait(30)

    thread = threading.Thread(target=misbehave)
    thread.start()
    connection = dial(listener.address, world.client, [world.server.fingerprint], 30.0)
    connection.set_deadline(1.0)
    try:
        with pytest.raises(PartyError):
            classify(connection, world.client_model, list(some_pictures(1)))
    finally:
        stop.set()
        thread.join()
