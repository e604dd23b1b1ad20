"""Whatever bytes a peer or a file brings: a typed error or a value, never another exception."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from degreespar._native import Identity
from degreespar.degree import DegreePolicy, PolicyError
from degreespar.errors import DegreeSparError
from degreespar.models.errors import ModelError
from degreespar.models.huggingface_files import read_json, read_tensors
from degreespar.party.errors import IdentityFileError, PictureError
from degreespar.party.handshake import MAX_MESSAGE_BYTES, PROTOCOL, Agreement, greet, welcome
from degreespar.party.keys import CERTIFICATE_FILE, KEY_FILE, load_identity, load_trusted
from degreespar.party.pace import Mode
from degreespar.party.pictures import read_picture
from degreespar.training.data import read_idx
from degreespar.training.errors import DataError
from tests.artifact.sample import GEOMETRY
from tests.degree.test_policy import uniform_policy

WANTED = Agreement("a" * 64, "b" * 64, 3, Mode.OVERLAP, windows_held=2, by_kind=True, tokens=5)
HELLO = json.dumps({"protocol": PROTOCOL, **asdict(WANTED)}).encode()


@st.composite
def spoiled(draw: st.DrawFn, sound: bytes) -> bytes:
    """Sound bytes with a few places overwritten, cut out or put in."""
    content = sound
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        cut = draw(st.sampled_from([0, 1, 2, 4, len(content)]))
        content = content[:start] + draw(st.binary(max_size=6)) + content[start + cut :]
    return content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Handshake messages: spoiled, or with other values for some keys."""
    if draw(st.booleans()):
        return draw(spoiled(HELLO))
    facts = json.loads(HELLO)
    for key in draw(st.lists(st.sampled_from([*facts, "refused", "more"]), max_size=3)):
        facts[key] = draw(JSON)
    for key in draw(st.lists(st.sampled_from(sorted(facts)), max_size=2, unique=True)):
        del facts[key]
    return json.dumps(facts).encode()


class Peer:
    """A connection whose other end says one thing."""

    def __init__(self, says: bytes) -> None:
        self.says, self.heard = says, list[bytes]()

    def send(self, label: str, payload: bytes) -> None:
        assert len(payload) <= MAX_MESSAGE_BYTES
        self.heard.append(payload)

    def receive(self, label: str, at_most_bytes: int) -> bytes:
        return self.says


@settings(deadline=None)
@given(messages())
def test_any_hello_is_welcomed_or_refused_in_words(says: bytes) -> None:
    peer = Peer(says)
    with suppress(DegreeSparError):
        agreed = welcome(peer, WANTED.artifact, {WANTED.tokens: WANTED.policy}, 10)
        assert (agreed.artifact, agreed.policy) == (WANTED.artifact, WANTED.policy)
    assert len(peer.heard) == 1


@settings(deadline=None)
@given(messages())
def test_any_welcome_is_what_was_asked_for_or_an_error_that_a_terminal_can_show(says: bytes) -> None:
    try:
        greet(Peer(says), WANTED)
    except DegreeSparError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 1000


@settings(deadline=None)
@given(spoiled(json.dumps(uniform_policy().to_json()).encode()))
def test_any_policy_file(content: bytes) -> None:
    try:
        value = json.loads(content)
    except ValueError:
        return
    with suppress(PolicyError):
        DegreePolicy.from_json(value)


IDX = bytes([0, 0, 8, 2]) + struct.pack(">II", 2, 3) + bytes(6)


def _in_a_file(content: bytes, read: Callable[[Path], object]) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "file"
        path.write_bytes(content)
        read(path)


@settings(deadline=None)
@given(spoiled(IDX), st.booleans())
def test_any_idx_file(raw: bytes, packed: bool) -> None:
    with suppress(DataError):
        _in_a_file(gzip.compress(raw) if packed else raw, read_idx)


@settings(deadline=None)
@given(spoiled(gzip.compress(IDX)))
def test_any_gzip_file(content: bytes) -> None:
    with suppress(DataError):
        _in_a_file(content, read_idx)


def test_an_idx_file_with_more_axes_than_an_array_can_have_is_refused() -> None:
    content = bytes([0, 0, 8, 255]) + struct.pack(">I", 1) * 255 + bytes(1)
    with pytest.raises(DataError, match="axes"):
        _in_a_file(gzip.compress(content), read_idx)


def test_an_idx_file_that_unpacks_without_end_is_refused() -> None:
    zeros = gzip.compress(bytes(1 << 26), compresslevel=9)
    with pytest.raises(DataError, match="unpack"):
        _in_a_file(zeros * 5, read_idx)


def _picture(form: str) -> bytes:
    side = GEOMETRY.image_px
    buffer = io.BytesIO()
    mode = {1: "L", 3: "RGB"}[GEOMETRY.channels]
    shape = (side, side) if mode == "L" else (side, side, 3)
    Image.fromarray(np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)).save(buffer, form)
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "BMP", "PPM", "WEBP"])
def test_any_picture_file(form: str) -> None:
    @settings(deadline=None)
    @given(spoiled(_picture(form)))
    def check(content: bytes) -> None:
        with suppress(PictureError):
            _in_a_file(content, lambda path: read_picture(path, GEOMETRY))

    check()


IDENTITY = Identity.generate("me")


@settings(deadline=None)
@given(spoiled(IDENTITY.certificate_pem.encode()), spoiled(IDENTITY.key_pem.encode()))
def test_any_identity_files(certificate: bytes, key: bytes) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / CERTIFICATE_FILE).write_bytes(certificate)
        (folder / KEY_FILE).write_bytes(key)
        with suppress(DegreeSparError):
            load_identity(folder)
        with suppress(DegreeSparError):
            load_trusted([folder / CERTIFICATE_FILE])


def test_a_nested_json_file_is_refused_not_recursed_into() -> None:
    deep = b"[" * 200_000
    with pytest.raises(ModelError):
        _in_a_file(deep, read_json)


@settings(deadline=None)
@given(spoiled(json.dumps({"hidden_size": 4, "architectures": ["x"]}).encode()))
def test_any_config_file(content: bytes) -> None:
    with suppress(ModelError):
        _in_a_file(content, read_json)


def _tensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(8)


@settings(deadline=None)
@given(spoiled(_tensors()))
def test_any_checkpoint_file(content: bytes) -> None:
    with TemporaryDirectory() as name:
        (Path(name) / "model.safetensors").write_bytes(content)
        with suppress(ModelError):
            read_tensors(Path(name))


def test_an_identity_file_of_random_bytes_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "c.crt"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(IdentityFileError) as caught:
        load_trusted([path])
    assert str(caught.value).isprintable()
