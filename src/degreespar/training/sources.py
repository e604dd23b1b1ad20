"""Which model a folder holds and which data a name means: where the command line meets the library."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from degreespar.artifact import VitGeometry
from degreespar.models.huggingface import Checkpoint, load_checkpoint
from degreespar.models.huggingface_bert import TextCheckpoint, load_text_checkpoint
from degreespar.training.augment import Augmentation
from degreespar.training.data import FASHION_MNIST_LABELS, Pictures, load_fashion_mnist
from degreespar.training.errors import DataError
from degreespar.training.image_folder import load_image_folder
from degreespar.training.loop import LoadedPictures
from degreespar.training.recipe import Recipe
from degreespar.training.task import Task, picture_task
from degreespar.training.text_tasks import TEXT_TASKS, load_texts
from degreespar.training.texts import LabelledTexts, LoadedTexts

FASHION_MNIST, IMAGENET = "fashion-mnist", "imagenet"
# Where Debian's dataset-fashion-mnist puts it.
FASHION_MNIST_FOLDER = Path("/usr/share/datasets/fashion-mnist")
# Shifts of a pixel and flips: what a trained model has seen; erasing costs a short run accuracy.
AUGMENTATION = Augmentation(shift_px=1, erase=0.0)


def open_model(folder: Path, tokens: int | None = None) -> Checkpoint | TextCheckpoint:
    """The classifier in a Hugging Face folder; a BERT's texts are cut to `tokens`."""
    if not folder.is_dir():
        raise DataError(
            f"{folder} is no folder: download the model first, names are not looked up on a network"
        )
    return load_text_checkpoint(folder, tokens) if _is_bert(folder) else load_checkpoint(folder)


def open_task(
    data: str,
    folder: Path | None,
    checkpoint: Checkpoint | TextCheckpoint,
    recipe: Recipe,
    device: torch.device,
) -> Task:
    """The data of a name, cut and normalised for this model."""
    known = (FASHION_MNIST, IMAGENET, *TEXT_TASKS)
    if data not in known:
        raise DataError(f"no data are called {data!r}: there are {', '.join(known)}")
    if (data in TEXT_TASKS) != isinstance(checkpoint, TextCheckpoint):
        raise DataError(f"{data} and the model do not go together: one is of pictures, the other of texts")
    if isinstance(checkpoint, TextCheckpoint):
        return _texts(data, _needed(data, folder), checkpoint, device)
    if data == IMAGENET:
        return _imagenet(_needed(data, folder), checkpoint, device)
    return _fashion_mnist(folder or FASHION_MNIST_FOLDER, checkpoint, recipe, device)


def _fashion_mnist(folder: Path, checkpoint: Checkpoint, recipe: Recipe, device: torch.device) -> Task:
    training, test = load_fashion_mnist(folder)
    geometry = checkpoint.model.geometry
    _check_shape(FASHION_MNIST, training, geometry)
    _check_classes(FASHION_MNIST, len(FASHION_MNIST_LABELS), geometry.classes)

    def load(pictures: Pictures) -> LoadedPictures:
        return LoadedPictures.of(pictures, checkpoint.normalisation, device)

    return picture_task(FASHION_MNIST, training, test, load, recipe.held_out, recipe.split_seed, AUGMENTATION)


def _imagenet(folder: Path, checkpoint: Checkpoint, device: torch.device) -> Task:
    geometry = checkpoint.model.geometry
    splits = load_image_folder(folder, geometry.image_px, checkpoint.normalisation, device)
    _check_classes(IMAGENET, len(splits.label_names), geometry.classes)
    return Task(IMAGENET, splits.training, splits.held_out, splits.test, AUGMENTATION.apply)


def _texts(data: str, folder: Path, checkpoint: TextCheckpoint, device: torch.device) -> Task:
    splits, geometry = load_texts(folder, data), checkpoint.model.geometry
    _check_classes(data, len(splits.label_names), geometry.classes)

    def load(texts: LabelledTexts) -> LoadedTexts:
        return LoadedTexts.of(texts, checkpoint.tokeniser, geometry.tokens, device)

    return Task(data, load(splits.training), load(splits.held_out), load(splits.test), _as_it_is)


def _as_it_is(inputs: Tensor) -> Tensor:
    """Texts are not varied."""
    return inputs


def _is_bert(folder: Path) -> bool:
    """By what the config says of itself; a config that cannot be read is refused by the ViT's reader."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "bert"


def _needed(data: str, folder: Path | None) -> Path:
    if folder is None:
        raise DataError(f"{data} needs --data-folder")
    return folder


def _check_shape(data: str, pictures: Pictures, geometry: VitGeometry) -> None:
    wanted = (geometry.channels, geometry.image_px, geometry.image_px)
    if pictures.pixels.shape[1:] != wanted:
        raise DataError(f"{data} has pictures of {pictures.pixels.shape[1:]}, the model is made for {wanted}")


def _check_classes(data: str, classes: int, model_classes: int) -> None:
    if classes != model_classes:
        raise DataError(f"{data} has {classes} classes, the model {model_classes}")
