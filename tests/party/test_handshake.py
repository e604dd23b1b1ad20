"""The handshake against a peer that may say anything."""

from __future__ import annotations

import json
import queue
import threading
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from degreespar.party.errors import HandshakeError, RefusedError
from degreespar.party.handshake import MAX_MESSAGE_BYTES, Agreement, greet, policy_digest, welcome
from degreespar.party.pace import Mode
from tests.support.made_artifact import policy

ARTIFACT, POLICY = "a" * 64, "b" * 64
WANTED = Agreement(ARTIFACT, POLICY, answers=2, mode=Mode.OVERLAP, windows_held=3, by_kind=False, tokens=5)
POLICIES = {5: POLICY}


@dataclass
class End:
    """One end of a pair of queues: labels and sizes are checked as the real connection does."""

    inbox: queue.Queue[tuple[str, bytes]] = field(default_factory=queue.Queue)
    outbox: queue.Queue[tuple[str, bytes]] = field(default_factory=queue.Queue)

    def send(self, label: str, payload: bytes) -> None:
        self.outbox.put((label, payload))

    def receive(self, label: str, at_most_bytes: int) -> bytes:
        got, payload = self.inbox.get(timeout=10)
        assert got == label
        assert len(payload) <= at_most_bytes
        return payload


def _pair() -> tuple[End, End]:
    server = End()
    return server, End(server.outbox, server.inbox)


def _hears(label: str, payload: bytes) -> End:
    end = End()
    end.inbox.put((label, payload))
    return end


def _message(**changes: object) -> bytes:
    facts = {
        "protocol": 3,
        "artifact": ARTIFACT,
        "policy": POLICY,
        "answers": 2,
        "mode": "overlap",
        "windows_held": 3,
        "by_kind": False,
        "tokens": 5,
    }
    return json.dumps({**facts, **changes}).encode()


def _both(wanted: Agreement, most_answers: int = 10) -> tuple[list[object], list[BaseException]]:
    server, client = _pair()
    agreed: list[object] = []
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            agreed.append(welcome(server, ARTIFACT, POLICIES, most_answers, most_windows_held=6))
        except RefusedError as error:
            failures.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        greet(client, wanted)
    except RefusedError as error:
        failures.append(error)
    thread.join()
    return agreed, failures


def test_both_agree() -> None:
    assert _both(WANTED) == ([WANTED], [])


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            replace(WANTED, artifact="c" * 64),
            "this server's artifact is aaaaaaaaaaaa..., the client's cccccccc",
        ),
        (replace(WANTED, policy="c" * 64), "the client's degree policy is not this server's"),
        (replace(WANTED, tokens=9), "this server's inputs have 5 tokens, not 9"),
        (replace(WANTED, answers=11), "at most 10 answers a connection, not 11"),
        (replace(WANTED, windows_held=7), "this server holds at most 6 windows, not 7"),
    ],
)
def test_a_refusal_is_the_same_sentence_on_both_sides(wanted: Agreement, sentence: str) -> None:
    agreed, failures = _both(wanted)
    assert agreed == []
    assert len(failures) == 2
    assert all(sentence in str(failure) for failure in failures)


@pytest.mark.parametrize(
    ("hello", "sentence"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 4000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "protocol version in hello must be an integer"),
        (_message(protocol=2), "the peer speaks version 2 of the protocol, this party version 3"),
        (_message(protocol=10**40), "an absurd number"),
        (_message(protocol=True), "must be an integer"),
        (_message(protocol=2, artifact=None), "speaks version 2"),
        (_message(extra=1), "unknown key 'extra'"),
        (_message(artifact=7), "artifact in hello must be a string"),
        (_message(artifact="A" * 64), "not 64 lower-case"),
        (_message(policy="b" * 63), "not 64 lower-case"),
        (_message(answers=0), r"1\.\.10000 answers, not 0"),
        (_message(answers=2.0), "answers in hello must be an integer"),
        (_message(mode="later"), "the mode in hello is none of ahead, overlap, just-in-time"),
        (_message(mode=7), "the mode in hello must be a string"),
        (_message(windows_held=0), r"holds 1\.\.10000 windows, not 0"),
        (_message(windows_held="2"), "the windows in hello must be an integer"),
        (_message(by_kind="yes"), "must be true or false"),
        (_message(tokens=6), "this server's inputs have 5 tokens, not 6"),
        (_message(tokens="5"), "tokens in hello must be an integer"),
    ],
)
def test_the_server_refuses_a_malformed_hello_and_says_why(hello: bytes, sentence: str) -> None:
    end = _hears("hello", hello)
    with pytest.raises(RefusedError, match=sentence):
        welcome(end, ARTIFACT, POLICIES, 10)
    label, answer = end.outbox.get_nowait()
    assert label == "welcome"
    assert set(json.loads(answer)) == {"protocol", "refused"}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"null", "not a JSON object"),
        (_message(protocol=4), "the peer speaks version 4"),
        (_message(answers=1), "did not ask for"),
        (_message(artifact="d" * 64), "did not ask for"),
        (b'{"protocol":3,"refused":7}', "must be a string"),
        (b'{"protocol":3,"refused":"no","more":1}', "unknown key"),
    ],
)
def test_the_client_believes_no_malformed_welcome(answer: bytes, sentence: str) -> None:
    with pytest.raises(HandshakeError, match=sentence):
        greet(_hears("welcome", answer), WANTED)


def test_a_refusal_cannot_write_to_the_terminal() -> None:
    answer = json.dumps({"protocol": 3, "refused": "go\x1b[2J away" + "!" * 3000}).encode()
    with pytest.raises(RefusedError) as caught:
        greet(_hears("welcome", answer), WANTED)
    assert "go?[2J away" in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.binary(max_size=300) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(str))
def test_no_bytes_break_the_server(hello: bytes | str) -> None:
    content = hello.encode() if isinstance(hello, str) else hello
    with pytest.raises(RefusedError):
        welcome(_hears("hello", content), ARTIFACT, POLICIES, 10)


def test_our_own_messages_fit_the_bound() -> None:
    server, client = _pair()
    client.inbox.put(("welcome", _message(answers=10_000)))
    greet(client, replace(WANTED, answers=10_000))
    assert len(server.inbox.get_nowait()[1]) < MAX_MESSAGE_BYTES


def test_policies_of_different_degree_have_different_digests() -> None:
    assert policy_digest(policy()) == policy_digest(policy())
    assert policy_digest(policy()) != policy_digest(policy(squarings=4))
