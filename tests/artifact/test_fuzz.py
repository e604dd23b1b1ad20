"""Whatever a stranger writes: an ArtifactError or a valid value, never another exception."""

import copy
import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from degreespar.artifact import ArtifactError, PublicPart, read_client, read_public, read_server
from degreespar.artifact.canonical import canonical_bytes
from degreespar.artifact.files import digest_of
from degreespar.artifact.parts import public_from_json
from tests.artifact.sample import GEOMETRY, parts_of


def sound_files() -> dict[str, bytes]:
    with TemporaryDirectory() as name:
        parts_of(GEOMETRY).write(Path(name))
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


SOUND = sound_files()
PUBLIC_VALUE = json.loads(SOUND["public.json"])

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([-1, 0, 1, 2, 3, 5, 6, 7, 8, 12, 14, 16]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
)


def paths_in(value: object, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value below the top."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    else:
        children = []
    here = [(*prefix, key) for key, _ in children]
    return here + [path for key, child in children for path in paths_in(child, (*prefix, key))]


@settings(deadline=None, max_examples=400)
@given(path=st.sampled_from(paths_in(PUBLIC_VALUE)), other=VALUES)
def test_any_value_in_any_place_of_public_json(path: tuple[Any, ...], other: object) -> None:
    value = copy.deepcopy(PUBLIC_VALUE)
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = other
    try:
        public, digests = public_from_json(value)
    except ArtifactError:
        return
    # Accepted: then it is a value of the format, which says the same when written again.
    again = public.to_json(digests)
    ignored = {"format": value["format"], "version": value["version"]}
    assert canonical_bytes({**again, **ignored}) == canonical_bytes(value)


@st.composite
def spoiled(draw: st.DrawFn, content: bytes) -> bytes:
    start = draw(st.integers(0, len(content)))
    cut = draw(st.integers(0, 3))
    return content[:start] + draw(st.binary(max_size=3)) + content[start + cut :]


@settings(deadline=None, max_examples=200)
@given(spoiled(SOUND["public.json"]))
def test_any_bytes_of_public_json(content: bytes) -> None:
    with TemporaryDirectory() as name:
        (Path(name) / "public.json").write_bytes(content)
        try:
            public, digest = read_public(Path(name))
        except ArtifactError:
            return
    assert isinstance(public, PublicPart)
    assert digest == digest_of(content)


@settings(deadline=None, max_examples=200)
@given(spoiled(SOUND["server.safetensors"]), spoiled(SOUND["client.json"]))
def test_any_bytes_beside_a_public_json_that_vouches_for_them(server: bytes, client: bytes) -> None:
    digests = {"client.json": digest_of(client), "server.safetensors": digest_of(server)}
    with TemporaryDirectory() as name:
        (Path(name) / "public.json").write_bytes(canonical_bytes({**PUBLIC_VALUE, "digests": digests}))
        (Path(name) / "client.json").write_bytes(client)
        (Path(name) / "server.safetensors").write_bytes(server)
        with suppress(ArtifactError):
            read_client(Path(name))
        with suppress(ArtifactError):
            read_server(Path(name))
