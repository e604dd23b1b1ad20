"""What is written is read back; equal input gives equal bytes; the client's files hold no weight."""

import itertools
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from degreespar.artifact import (
    ArtifactError,
    VitGeometry,
    errors,
    files,
    read_client,
    read_public,
    read_server,
)
from tests.artifact.sample import GEOMETRY, Parts, parts_of

FILES = ("public.json", "client.json", "server.safetensors")


@st.composite
def geometries(draw: st.DrawFn) -> VitGeometry:
    patch_px = draw(st.integers(1, 4))
    heads = draw(st.integers(1, 3))
    return VitGeometry(
        image_px=patch_px * draw(st.integers(1, 3)),
        patch_px=patch_px,
        channels=draw(st.integers(1, 3)),
        width=heads * draw(st.integers(1, 4)),
        heads=heads,
        ffn_widths=tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))),
        classes=draw(st.integers(1, 4)),
        layer_norm_eps=draw(st.sampled_from([1e-12, 1e-6, 1e-5, 0.1])),
    )


@settings(deadline=None, max_examples=30)
@given(geometry=geometries(), seed=st.integers(0, 1000))
def test_each_role_reads_back_what_was_written(geometry: VitGeometry, seed: int) -> None:
    parts = parts_of(geometry, seed)
    with TemporaryDirectory() as name:
        written = parts.write(Path(name))
        assert read_public(Path(name)) == (parts.public, written)
        assert read_client(Path(name)) == (parts.public, parts.client, written)
        public, tensors, digest = read_server(Path(name))
    assert (public, digest) == (parts.public, written)
    assert list(tensors) == [entry.name for entry in public.weights]
    for entry in public.weights:
        assert tensors[entry.name].dtype == np.dtype(entry.dtype)
        assert np.array_equal(tensors[entry.name], parts.tensors[entry.name])


def test_a22_same_input_same_bytes(parts: Parts, tmp_path: Path) -> None:
    again = parts_of(GEOMETRY)
    # The order of a mapping and the memory layout of an array are no input.
    shuffled = dict(reversed(again.tensors.items()))
    shuffled["patch.weight"] = np.asfortranarray(shuffled["patch.weight"])
    first = parts.write(tmp_path / "first")
    second = replace(again, tensors=shuffled).write(tmp_path / "second")
    assert first == second
    for name in FILES:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_a22_another_weight_gives_another_digest(parts: Parts, tmp_path: Path) -> None:
    first = parts.write(tmp_path / "first")
    parts.tensors["head.weight"][0, 0] ^= 1
    assert parts.write(tmp_path / "second") != first


def test_a23_client_files_hold_no_weight(parts: Parts, tmp_path: Path) -> None:
    """All other weights change nothing in the client's files but the one digest."""
    others = parts_of(GEOMETRY, seed=2)
    assert not np.array_equal(others.tensors["head.weight"], parts.tensors["head.weight"])
    parts.write(tmp_path / "first")
    others.write(tmp_path / "second")
    first, second = ((tmp_path / name) for name in ("first", "second"))
    assert (first / "client.json").read_bytes() == (second / "client.json").read_bytes()
    digests = [
        files.digest_of((path / "server.safetensors").read_bytes()).encode() for path in (first, second)
    ]
    contents = [(path / "public.json").read_bytes() for path in (first, second)]
    assert contents[0] != contents[1]
    assert contents[0].replace(digests[0], digests[1]) == contents[1]


def test_a24_half_written_artifact_is_refused(parts: Parts, tmp_path: Path) -> None:
    """Whichever files of a new artifact have replaced the old one's, some role sees it, or all agree."""
    others = replace(parts_of(GEOMETRY, seed=2), client=replace(parts.client, input_frac_bits=9))
    parts.write(tmp_path / "old")
    others.write(tmp_path / "new")
    for replaced in itertools.product([False, True], repeat=3):
        mixed = tmp_path / "mixed"
        mixed.mkdir(exist_ok=True)
        for name, is_new in zip(FILES, replaced, strict=True):
            (mixed / name).write_bytes((tmp_path / ("new" if is_new else "old") / name).read_bytes())
        if len(set(replaced)) == 1:
            read_client(mixed)
            read_server(mixed)
            continue
        with pytest.raises(ArtifactError):
            (read_client(mixed), read_server(mixed))


def test_a24_public_part_is_written_last(parts: Parts, tmp_path: Path) -> None:
    """public.json cannot be put in place (a directory is in its way), the other files already are."""
    (tmp_path / "public.json").mkdir()
    with pytest.raises(errors.WriteFailedError, match=r"public\.json cannot be written"):
        parts.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_a24_nowhere_to_write(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(errors.WriteFailedError, match="cannot be written"):
        parts.write(tmp_path / "file" / "model")


def test_writing_over_an_artifact_leaves_three_files(parts: Parts, tmp_path: Path) -> None:
    parts.write(tmp_path)
    digest = parts_of(GEOMETRY, seed=2).write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert read_server(tmp_path)[2] == digest
