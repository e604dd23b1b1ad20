"""What the two parties agree on before the first secret (docs/spec/wire.md names the frames).

1. Client -> server, label `hello`: protocol version, artifact and policy digests, how many answers it
   wants, when windows are prepared (`party.pace`) and how many of them either party may hold at once,
   whether every kind of work is prepared and reported apart, and how many tokens every input has (its
   length class).
2. Server -> client, label `welcome`: the same facts back, or a refusal and its reason.

Both messages are JSON objects of known keys. The peer may send anything: whatever is not exactly such
an object ends in a HandshakeError, and at the server in a refusal to the client as well.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import NoReturn, Protocol

from degreespar.artifact.canonical import canonical_bytes
from degreespar.artifact.parts import DIGEST_LENGTH
from degreespar.degree import DegreePolicy
from degreespar.degree.strict_json import take_int, take_object, take_str
from degreespar.party.errors import HandshakeError, RefusedError
from degreespar.party.pace import MAX_WINDOWS_HELD, Mode

PROTOCOL = 3
MAX_MESSAGE_BYTES = 4096
MAX_REASON_LENGTH = 300
MAX_ANSWERS = 10_000
HELLO, WELCOME = "hello", "welcome"


class Messages(Protocol):
    """The part of a connection that the handshake needs."""

    def send(self, label: str, payload: bytes) -> None:
        """Sends one message."""

    def receive(self, label: str, at_most_bytes: int) -> bytes:
        """The peer's next message, which must carry the label."""


@dataclass(frozen=True)
class Agreement:
    """The public facts of a run."""

    artifact: str
    policy: str
    answers: int
    mode: Mode
    windows_held: int
    by_kind: bool
    tokens: int
    """The public length class of all inputs of the run."""

    def __post_init__(self) -> None:
        for digest in (self.artifact, self.policy):
            if len(digest) != DIGEST_LENGTH or not set(digest) <= set("0123456789abcdef"):
                raise HandshakeError("a digest in the handshake is not 64 lower-case hexadecimal digits")
        if not 1 <= self.answers <= MAX_ANSWERS:
            raise HandshakeError(f"a run has 1..{MAX_ANSWERS} answers, not {self.answers}")
        if not 1 <= self.windows_held <= MAX_WINDOWS_HELD:
            raise HandshakeError(f"a run holds 1..{MAX_WINDOWS_HELD} windows, not {self.windows_held}")


def policy_digest(policy: DegreePolicy) -> str:
    """SHA-256 of the policy's canonical JSON."""
    return hashlib.sha256(canonical_bytes(policy.to_json())).hexdigest()


def greet(connection: Messages, wanted: Agreement) -> None:
    """The client's side: returns if the server agrees to all of it."""
    connection.send(HELLO, _encode(wanted))
    message = _parse(connection.receive(WELCOME, MAX_MESSAGE_BYTES), WELCOME)
    if "refused" in message:
        parts = take_object(message, ("protocol", "refused"), WELCOME, HandshakeError)
        raise RefusedError(
            f"the server refuses: {_printable(take_str(parts['refused'], WELCOME, HandshakeError))}"
        )
    _check_protocol(message, WELCOME)
    if _agreement(message, WELCOME) != wanted:
        raise HandshakeError("the server welcomes this client to something that it did not ask for")


def welcome(
    connection: Messages,
    artifact: str,
    policies: Mapping[int, str],
    most_answers: int,
    most_windows_held: int = MAX_WINDOWS_HELD,
) -> Agreement:
    """The server's side: what was agreed, or an error after telling the client why not.

    `policies` are the digests of the policies by length class.
    """
    payload = connection.receive(HELLO, MAX_MESSAGE_BYTES)
    try:
        message = _parse(payload, HELLO)
        _check_protocol(message, HELLO)
        wanted = _agreement(message, HELLO)
    except HandshakeError as error:
        _refuse(connection, str(error), error)
    if wanted.artifact != artifact:
        _refuse(
            connection,
            f"this server's artifact is {artifact[:12]}..., the client's {wanted.artifact[:12]}...",
        )
    if wanted.tokens not in policies:
        known = ", ".join(map(str, policies))
        _refuse(connection, f"this server's inputs have {known} tokens, not {wanted.tokens}")
    if wanted.policy != policies[wanted.tokens]:
        _refuse(connection, "the client's degree policy is not this server's")
    if wanted.answers > most_answers:
        _refuse(
            connection, f"this server gives at most {most_answers} answers a connection, not {wanted.answers}"
        )
    if wanted.windows_held > most_windows_held:
        _refuse(
            connection,
            f"this server holds at most {most_windows_held} windows, not {wanted.windows_held}",
        )
    connection.send(WELCOME, _encode(wanted))
    return wanted


def _refuse(connection: Messages, reason: str, cause: HandshakeError | None = None) -> NoReturn:
    reason = reason[:MAX_REASON_LENGTH]
    connection.send(WELCOME, canonical_bytes({"protocol": PROTOCOL, "refused": reason}))
    raise RefusedError(f"refused the client: {reason}") from cause


def _encode(agreement: Agreement) -> bytes:
    return canonical_bytes({"protocol": PROTOCOL, **asdict(agreement)})


def _parse(payload: bytes, where: str) -> dict[str, object]:
    try:
        value = json.loads(payload.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise HandshakeError(f"the peer's {where} is not JSON") from error
    if not isinstance(value, dict):
        raise HandshakeError(f"the peer's {where} is not a JSON object")
    return value


def _check_protocol(message: dict[str, object], where: str) -> None:
    """First of all: an object of another version may have any other keys."""
    version = take_int(message.get("protocol"), f"the protocol version in {where}", HandshakeError)
    if version != PROTOCOL:
        shown = version if abs(version) < 10**6 else "an absurd number"
        raise HandshakeError(
            f"the peer speaks version {shown} of the protocol, this party version {PROTOCOL}"
        )


def _agreement(message: dict[str, object], where: str) -> Agreement:
    keys = ("protocol", *(field.name for field in fields(Agreement)))
    parts = take_object(message, keys, where, HandshakeError)
    return Agreement(
        artifact=take_str(parts["artifact"], f"the artifact in {where}", HandshakeError),
        policy=take_str(parts["policy"], f"the policy in {where}", HandshakeError),
        answers=take_int(parts["answers"], f"the answers in {where}", HandshakeError),
        mode=_mode(take_str(parts["mode"], f"the mode in {where}", HandshakeError), where),
        windows_held=take_int(parts["windows_held"], f"the windows in {where}", HandshakeError),
        by_kind=_flag(parts, "by_kind", where),
        tokens=take_int(parts["tokens"], f"the tokens in {where}", HandshakeError),
    )


def _mode(name: str, where: str) -> Mode:
    try:
        return Mode(name)
    except ValueError:
        raise HandshakeError(f"the mode in {where} is none of {', '.join(m.value for m in Mode)}") from None


def _flag(parts: dict[str, object], name: str, where: str) -> bool:
    flag = parts[name]
    if not isinstance(flag, bool):
        raise HandshakeError(f"{name} in {where} must be true or false")
    return flag


def _printable(reason: str) -> str:
    # It goes to a terminal: control characters could rewrite what stands there.
    shown = "".join(c if c.isprintable() else "?" for c in reason[:MAX_REASON_LENGTH])
    return shown or "no reason given"
