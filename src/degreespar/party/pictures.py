"""From an image file to the integers that the client brings into a run.

A picture must have the model's own size and channels: silently resizing or converting would answer
another question than the one asked.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from degreespar.artifact import ClientPart, VitGeometry
from degreespar.artifact.files import read_bounded
from degreespar.engine.ring import Integers
from degreespar.errors import DegreeSparError
from degreespar.numerics.fixed_point import encode
from degreespar.party.errors import PictureError
from degreespar.program.units import INPUT_FRAC
from degreespar.program.vit import INPUT_BOUND

Pixels = NDArray[np.uint8]

MAX_PICTURE_BYTES = 32 << 20
# The formats that people have, and whose readers in Pillow are exercised most.
FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP")
MODES = {1: "L", 3: "RGB"}


def read_pictures(paths: Sequence[Path], geometry: VitGeometry) -> Pixels:
    """Pictures as bytes (count, rows, columns, channels)."""
    return np.stack([read_picture(path, geometry) for path in paths])


def read_picture(path: Path, geometry: VitGeometry) -> Pixels:
    """One picture as bytes (rows, columns, channels)."""
    try:
        content = read_bounded(path, MAX_PICTURE_BYTES)
    except DegreeSparError as error:
        raise PictureError(str(error)) from error
    try:
        with warnings.catch_warnings():
            # Pillow warns of huge pictures; ours are refused by their size before any pixel is decoded.
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                _check_form(image, geometry, path)
                image.load()
                pixels = np.asarray(image, dtype=np.uint8)
    except PictureError:
        raise
    except UnidentifiedImageError as error:
        raise PictureError(f"{path} is no picture of a known format ({', '.join(FORMATS)})") from error
    # Pillow raises many kinds of errors on damaged files, and promises no list of them.
    except Exception as error:
        raise PictureError(f"{path} is a damaged picture") from error
    return pixels.reshape(geometry.image_px, geometry.image_px, geometry.channels)


def to_patches(pixels: Pixels, geometry: VitGeometry, client: ClientPart) -> Integers:
    """Pictures (count, rows, columns, channels) as a program's input (count, patches, patch_values)."""
    if client.input_frac_bits != INPUT_FRAC:
        raise PictureError(
            f"the model's inputs have {client.input_frac_bits} fraction bits, but programs take {INPUT_FRAC}"
        )
    normalised = (pixels / 255.0 - np.array(client.mean)) / np.array(client.std)
    largest = float(np.abs(normalised).max(initial=0.0))
    if largest > INPUT_BOUND:
        raise PictureError(f"a normalised pixel is {largest:.1f}, beyond the model's bound of {INPUT_BOUND}")
    side, patch = geometry.image_px // geometry.patch_px, geometry.patch_px
    cut = normalised.reshape(-1, side, patch, side, patch, geometry.channels)
    patches = cut.transpose(0, 1, 3, 2, 4, 5).reshape(-1, geometry.patches, geometry.patch_values)
    return encode(patches, INPUT_FRAC)


def _check_form(image: Image.Image, geometry: VitGeometry, path: Path) -> None:
    side = geometry.image_px
    if image.size != (side, side):
        width, height = image.size
        raise PictureError(f"{path} has {width}x{height} pixels, but the model takes {side}x{side}")
    mode = MODES.get(geometry.channels)
    if mode is None:
        raise PictureError(f"the model takes {geometry.channels} channels, which no picture file has")
    if image.mode != mode:
        raise PictureError(f"{path} has pixels of kind {image.mode}, but the model takes {mode}")
