"""Pictures in folders by class, as ImageNet-1K is unpacked: train/CLASS/*.JPEG and val/CLASS/*.JPEG."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from degreespar.models.normalisation import Normalisation
from degreespar.training.errors import DataError
from degreespar.training.texts import HELD_OUT_PART, PARTS

SUFFIXES = frozenset({".jpeg", ".jpg", ".png"})
RESIZE_RATIO = 256 / 224
"""The shorter side before the centre is cut out, over the model's side: as ImageNet is evaluated."""


@dataclass(frozen=True)
class FolderPictures:
    """Pictures that are decoded when they are taken, since all of them would fill the memory."""

    paths: tuple[Path, ...]
    labels: Tensor
    image_px: int
    normalisation: Normalisation

    def __len__(self) -> int:
        return len(self.paths)

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Normalised pictures [batch, 3, image_px, image_px] at `indices`, and their labels."""
        pixels = np.stack([decoded(self.paths[int(index)], self.image_px) for index in indices])
        bytes_first = torch.from_numpy(pixels).permute(0, 3, 1, 2).to(self.labels.device)
        return self.normalisation.apply(bytes_first), self.labels[indices.to(self.labels.device)]


@dataclass(frozen=True)
class PictureSplits:
    """What trains, what decides, what is looked at once, and the classes' names."""

    label_names: tuple[str, ...]
    training: FolderPictures
    held_out: FolderPictures
    test: FolderPictures


def load_image_folder(
    folder: Path, image_px: int, normalisation: Normalisation, device: torch.device
) -> PictureSplits:
    """ImageNet-1K's two splits; `val` tests, and a tenth of `train`, by hash of the name, is held out."""
    names = _classes(folder / "train")
    if _classes(folder / "val") != names:
        raise DataError(f"train and val in {folder} do not have the same classes")

    def pictures(listed: list[tuple[Path, int]]) -> FolderPictures:
        if not listed:
            raise DataError(f"{folder} leaves no picture for one of train, hold-out and test")
        labels = torch.tensor([label for _, label in listed], device=device)
        return FolderPictures(tuple(path for path, _ in listed), labels, image_px, normalisation)

    known = _listed(folder / "train", names)
    apart = [_part(path) == HELD_OUT_PART for path, _ in known]
    return PictureSplits(
        names,
        training=pictures([entry for entry, held in zip(known, apart, strict=True) if not held]),
        held_out=pictures([entry for entry, held in zip(known, apart, strict=True) if held]),
        test=pictures(_listed(folder / "val", names)),
    )


def decoded(path: Path, image_px: int) -> np.ndarray:
    """One picture's centre as bytes [image_px, image_px, 3]."""
    try:
        with Image.open(path) as image:
            colours = image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is no picture that can be read") from error
    width, height = colours.size
    scale = round(image_px * RESIZE_RATIO) / min(width, height)
    size = (max(image_px, round(width * scale)), max(image_px, round(height * scale)))
    resized = colours.resize(size, Image.Resampling.BICUBIC)
    left, top = (size[0] - image_px) // 2, (size[1] - image_px) // 2
    return np.asarray(resized.crop((left, top, left + image_px, top + image_px)), dtype=np.uint8)


def _classes(split: Path) -> tuple[str, ...]:
    if not split.is_dir():
        raise DataError(f"{split} is missing: a folder with one folder for each class")
    names = tuple(sorted(entry.name for entry in split.iterdir() if entry.is_dir()))
    if not names:
        raise DataError(f"{split} has no folder for a class (ImageNet's val comes flat: sort it first)")
    return names


def _listed(split: Path, names: tuple[str, ...]) -> list[tuple[Path, int]]:
    return [
        (path, label)
        for label, name in enumerate(names)
        for path in sorted((split / name).iterdir())
        if path.suffix.lower() in SUFFIXES
    ]


def _part(path: Path) -> int:
    name = f"{path.parent.name}/{path.name}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest(), "big") % PARTS
