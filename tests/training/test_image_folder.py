"""Pictures in folders by class, as ImageNet-1K is unpacked."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from degreespar.models import Normalisation
from degreespar.training.errors import DataError
from degreespar.training.image_folder import PictureSplits, decoded, load_image_folder

PLAIN = Normalisation((0.0,) * 3, (1.0,) * 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, count in (("train", 30), ("val", 2)):
        for label, name in enumerate(("n01440764", "n01443537")):
            place = tmp_path / split / name
            place.mkdir(parents=True)
            for number in range(count):
                pixels = np.full((20, 30, 3), 100 * label + number, dtype=np.uint8)
                Image.fromarray(pixels).save(place / f"{name}_{number}.PNG")
    return tmp_path


def load(folder: Path) -> PictureSplits:
    return load_image_folder(folder, 8, PLAIN, torch.device("cpu"))


def test_splits_are_complete_disjoint_and_labelled(folder: Path) -> None:
    splits = load(folder)
    assert splits.label_names == ("n01440764", "n01443537")
    known = [*splits.training.paths, *splits.held_out.paths]
    assert len(known) == len(set(known)) == 60
    assert 0 < len(splits.held_out) < 20
    assert len(splits.test) == 4
    pixels, labels = splits.test.take(torch.tensor([3, 0]))
    assert pixels.shape == (2, 3, 8, 8)
    assert labels.tolist() == [1, 0]
    assert pixels[0].unique().tolist() == pytest.approx([101 / 255])


def test_the_centre_is_cut_from_the_resized_picture(tmp_path: Path) -> None:
    pixels = np.zeros((64, 128, 3), dtype=np.uint8)
    pixels[:, 32:96] = 200  # the central square
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    cut = decoded(tmp_path / "wide.png", 56)
    assert cut.shape == (56, 56, 3)
    assert (cut == 200).all()


def refuse(folder: Path, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named(folder: Path) -> None:
    shutil.rmtree(folder / "val" / "n01443537")
    refuse(folder, "train and val in .* do not have the same classes")
    shutil.rmtree(folder / "val" / "n01440764")
    refuse(folder, "val has no folder for a class")
    shutil.rmtree(folder / "val")
    refuse(folder, "val is missing")


def test_a_damaged_picture_is_named_when_it_is_taken(folder: Path) -> None:
    splits = load(folder)
    splits.test.paths[1].write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"n01440764_1.PNG is no picture"):
        splits.test.take(torch.tensor([1]))
