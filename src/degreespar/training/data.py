"""Labelled pictures from IDX files (Fashion-MNIST, MNIST), checked against their published digests."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from degreespar.training.errors import DataError

ByteArray = npt.NDArray[np.uint8]

# sha256 of the files in Debian's dataset-fashion-mnist 0.0~git20200523.55506a9-1 (MIT).
FASHION_MNIST_SHA256: Mapping[str, str] = MappingProxyType(
    {
        "train-images-idx3-ubyte.gz": "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
        "train-labels-idx1-ubyte.gz": "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
        "t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
        "t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    }
)
FASHION_MNIST_LABELS = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
IDX_UNSIGNED_BYTES = 8
IDX_MAX_BYTES = 1 << 28
IDX_MAX_AXES = 4


@dataclass(frozen=True)
class Pictures:
    """Pictures as bytes [count, channels, rows, columns] and their class numbers [count]."""

    pixels: ByteArray
    labels: ByteArray

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.labels.shape != self.pixels.shape[:1]:
            raise DataError(
                f"pictures of shape {self.pixels.shape} do not go with labels of shape {self.labels.shape}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: npt.NDArray[np.integer]) -> Pictures:
        """The pictures at `indices`."""
        return Pictures(self.pixels[indices], self.labels[indices])


def load_fashion_mnist(folder: Path) -> tuple[Pictures, Pictures]:
    """The 60,000 training and 10,000 test pictures of the four files in `folder`."""
    return _read_pair(folder, "train"), _read_pair(folder, "t10k")


def hold_out(pictures: Pictures, count: int, seed: int) -> tuple[Pictures, Pictures]:
    """Split into (rest, held out) with `count` pictures held out, the same for the same seed."""
    if not 0 < count < len(pictures):
        raise DataError(f"cannot hold out {count} of {len(pictures)} pictures")
    order = np.random.default_rng(seed).permutation(len(pictures))
    return pictures.take(order[count:]), pictures.take(order[:count])


def read_idx(path: Path, sha256: str | None = None) -> ByteArray:
    """The array of unsigned bytes in a gzipped IDX file, whose digest is checked where one is given."""
    packed = _read_bytes(path)
    if sha256 is not None and hashlib.sha256(packed).hexdigest() != sha256:
        raise DataError(f"{path} is not the published file: its sha256 digest differs")
    return _parse_idx(path, _unpack(path, packed))


def _read_pair(folder: Path, stem: str) -> Pictures:
    names = (f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz")
    pixels, labels = (read_idx(folder / name, FASHION_MNIST_SHA256[name]) for name in names)
    return Pictures(pixels[:, None], labels)


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > IDX_MAX_BYTES:
            raise DataError(f"{path} is larger than {IDX_MAX_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def _unpack(path: Path, packed: bytes) -> bytes:
    """The content of a gzip file, of which a small one may claim more than the machine has."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            raw = file.read(IDX_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a complete gzip file") from error
    if len(raw) > IDX_MAX_BYTES:
        raise DataError(f"{path} unpacks to more than {IDX_MAX_BYTES} bytes")
    return raw


def _parse_idx(path: Path, raw: bytes) -> ByteArray:
    if len(raw) < 4 or raw[:3] != bytes([0, 0, IDX_UNSIGNED_BYTES]):
        raise DataError(f"{path} is not an IDX file of unsigned bytes")
    if raw[3] > IDX_MAX_AXES:
        raise DataError(f"{path} promises an array of {raw[3]} axes")
    header_bytes = 4 + 4 * raw[3]
    if len(raw) < header_bytes:
        raise DataError(f"{path} ends inside its header")
    shape = struct.unpack(f">{raw[3]}I", raw[4:header_bytes])
    values = np.frombuffer(raw, dtype=np.uint8, offset=header_bytes)
    expected = int(np.prod(shape, dtype=object)) if shape else 1
    if values.size != expected:
        raise DataError(f"{path} holds {values.size} values where its header promises {expected}")
    return values.reshape(shape)
