import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from degreespar.training import DataError, Pictures, hold_out, load_fashion_mnist, read_idx
from degreespar.training.data import FASHION_MNIST_SHA256


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "values.gz"


@pytest.mark.parametrize("shape", [(7,), (2, 3, 5), (0, 4)])
def test_an_array_is_read_back(path: Path, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    packed = idx(array)
    path.write_bytes(packed)
    np.testing.assert_array_equal(read_idx(path, hashlib.sha256(packed).hexdigest()), array)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"not gzip", "not a complete gzip file"),
        (idx(np.zeros(100))[:-12], "not a complete gzip file"),
        (gzip.compress(b""), "not an IDX file"),
        (gzip.compress(bytes([0, 0, 13, 1]) + bytes(8)), "not an IDX file of unsigned bytes"),
        (gzip.compress(bytes([0, 0, 8, 3]) + bytes(8)), "ends inside its header"),
        (gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 9]) + bytes(8)), "holds 8 values where .* promises 9"),
        (gzip.compress(bytes([0, 0, 8, 2]) + b"\xff" * 8 + bytes(8)), "holds 8 values where"),
    ],
)
def test_a_damaged_file_is_refused(path: Path, content: bytes, sentence: str) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        read_idx(path)


def test_a_file_of_another_digest_is_refused(path: Path) -> None:
    path.write_bytes(idx(np.zeros(3)))
    with pytest.raises(DataError, match="is not the published file"):
        read_idx(path, "0" * 64)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*train-images-idx3-ubyte.gz: No such file"):
        load_fashion_mnist(tmp_path)


def test_other_data_does_not_pass_for_fashion_mnist(tmp_path: Path) -> None:
    for name in FASHION_MNIST_SHA256:
        (tmp_path / name).write_bytes(idx(np.zeros((2, 28, 28) if "images" in name else 2)))
    with pytest.raises(DataError, match="is not the published file"):
        load_fashion_mnist(tmp_path)


def test_holding_out_partitions_and_repeats() -> None:
    pictures = Pictures(np.arange(20, dtype=np.uint8).reshape(20, 1, 1, 1), np.arange(20, dtype=np.uint8))
    rest, held_out = hold_out(pictures, 6, seed=3)
    assert (len(rest), len(held_out)) == (14, 6)
    assert sorted([*rest.labels, *held_out.labels]) == list(range(20))
    np.testing.assert_array_equal(rest.pixels[:, 0, 0, 0], rest.labels)
    np.testing.assert_array_equal(hold_out(pictures, 6, seed=3)[1].labels, held_out.labels)
    assert list(hold_out(pictures, 6, seed=4)[1].labels) != list(held_out.labels)
    for count in (0, 20, 21):
        with pytest.raises(DataError, match="cannot hold out"):
            hold_out(pictures, count, seed=3)


def test_pictures_and_labels_must_agree() -> None:
    with pytest.raises(DataError, match="do not go with labels"):
        Pictures(np.zeros((3, 1, 2, 2), np.uint8), np.zeros(2, np.uint8))
