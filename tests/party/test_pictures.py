"""From files to integers: the right ones, in the right order, and nothing else."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from degreespar.artifact import ClientPart
from degreespar.party.errors import PictureError
from degreespar.party.pictures import read_picture, read_pictures, to_patches
from tests.support.made_artifact import CLIENT, GEOMETRY, write_picture


def test_patches_run_by_row_column_channel(tmp_path: Path) -> None:
    geometry = replace(GEOMETRY, channels=3)
    client = ClientPart((0.0, 0.5, 1.0), (1.0, 0.5, 2.0), 12)
    path = write_picture(tmp_path / "a.png", seed=1, mode="RGB")
    pixels = np.asarray(Image.open(path))
    patches = to_patches(read_pictures([path], geometry), geometry, client)
    assert patches.shape == (1, 4, 12)
    expected = [
        round(
            (int(pixels[2 + row, column, channel]) / 255 - client.mean[channel]) / client.std[channel] * 4096
        )
        for row in (0, 1)
        for column in (0, 1)
        for channel in range(3)
    ]
    assert patches[0, 2].tolist() == expected  # the third patch begins the second row of patches


def test_the_extreme_pixels_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(np.array([[0, 255] * 2] * 4, dtype=np.uint8)).save(path)
    patches = to_patches(read_pictures([path], GEOMETRY), GEOMETRY, CLIENT)
    assert set(patches.ravel().tolist()) == {-2 * 4096, 2 * 4096}


def test_a_normalised_pixel_beyond_the_bound_is_refused() -> None:
    client = ClientPart((0.0,), (2.0**-5,), 12)
    white = np.full((1, 4, 4, 1), 255, dtype=np.uint8)
    with pytest.raises(PictureError, match=r"32\.0, beyond the model's bound of 16"):
        to_patches(white, GEOMETRY, client)


def test_other_input_units_are_refused() -> None:
    with pytest.raises(PictureError, match="11 fraction bits"):
        to_patches(np.zeros((1, 4, 4, 1), np.uint8), GEOMETRY, replace(CLIENT, input_frac_bits=11))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match=r"a\.png cannot be read"):
        read_picture(tmp_path / "a.png", GEOMETRY)


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"GIF89a" + bytes(20)])
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(PictureError, match=r"no picture of a known format|damaged"):
        read_picture(path, GEOMETRY)


def test_a_truncated_picture_is_refused(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a.png", seed=1)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(PictureError, match="damaged"):
        read_picture(path, GEOMETRY)


def test_another_size_is_refused_with_both_sizes(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a.png", seed=1, side=5)
    with pytest.raises(PictureError, match="5x5 pixels, but the model takes 4x4"):
        read_picture(path, GEOMETRY)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_other_channels_are_refused(tmp_path: Path, mode: str) -> None:
    path = write_picture(tmp_path / "a.png", seed=1, mode=mode)
    with pytest.raises(PictureError, match=f"kind {mode}, but the model takes L"):
        read_picture(path, GEOMETRY)


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    path = tmp_path / "bomb.png"
    with io.BytesIO() as out:
        out.write(b"\x89PNG\r\n\x1a\n")
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000)))):
            out.write(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))
        path.write_bytes(out.getvalue())
    with pytest.raises(PictureError, match=r"40000x40000|damaged"):
        read_picture(path, GEOMETRY)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(33 << 20)
    with pytest.raises(PictureError, match="larger than"):
        read_picture(path, GEOMETRY)
