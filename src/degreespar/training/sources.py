"""Which model a folder holds and which data a name means: where the command line meets the library."""

from __future__ import annotations

from pathlib import Path

import torch

from degreespar.artifact import VitGeometry
from degreespar.models.huggingface import Checkpoint, load_checkpoint
from degreespar.training.augment import Augmentation
from degreespar.training.data import FASHION_MNIST_LABELS, Pictures, load_fashion_mnist
from degreespar.training.errors import DataError
from degreespar.training.loop import LoadedPictures
from degreespar.training.recipe import Recipe
from degreespar.training.task import Task, picture_task

FASHION_MNIST = "fashion-mnist"
DATA = (FASHION_MNIST,)
# Where Debian's dataset-fashion-mnist puts it.
FASHION_MNIST_FOLDER = Path("/usr/share/datasets/fashion-mnist")


def open_model(folder: Path) -> Checkpoint:
    """The classifier in a Hugging Face folder."""
    if not folder.is_dir():
        raise DataError(
            f"{folder} is no folder: download the model first, names are not looked up on a network"
        )
    return load_checkpoint(folder)


def open_task(
    data: str, folder: Path | None, checkpoint: Checkpoint, recipe: Recipe, device: torch.device
) -> Task:
    """The data of a name, cut and normalised for this model."""
    if data != FASHION_MNIST:
        raise DataError(f"no data are called {data!r}: there are {', '.join(DATA)}")
    training, test = load_fashion_mnist(folder or FASHION_MNIST_FOLDER)
    geometry = checkpoint.model.geometry
    _check_fit(data, training, len(FASHION_MNIST_LABELS), geometry)
    # Shifts of a pixel and flips: what a trained model has seen; erasing costs a short run accuracy.
    augmentation = Augmentation(shift_px=1, erase=0.0)

    def load(pictures: Pictures) -> LoadedPictures:
        return LoadedPictures.of(pictures, checkpoint.normalisation, device)

    return picture_task(data, training, test, load, recipe.held_out, recipe.split_seed, augmentation)


def _check_fit(data: str, pictures: Pictures, classes: int, geometry: VitGeometry) -> None:
    wanted = (geometry.channels, geometry.image_px, geometry.image_px)
    if pictures.pixels.shape[1:] != wanted:
        raise DataError(f"{data} has pictures of {pictures.pixels.shape[1:]}, the model is made for {wanted}")
    if classes != geometry.classes:
        raise DataError(f"{data} has {classes} classes, the model {geometry.classes}")
