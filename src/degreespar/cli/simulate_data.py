"""What is answered in numbers: inputs named on the command line, or a labelled data set."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from degreespar.artifact import Client, ClientPart, PublicPart, TextPart
from degreespar.artifact.errors import WrongKindError
from degreespar.cli.extras import extra
from degreespar.cli.inputs import any_given, read_inputs
from degreespar.degree import DegreePolicy
from degreespar.engine.ring import Integers
from degreespar.errors import DegreeSparError
from degreespar.party.oracle import Scores
from degreespar.party.pictures import Pixels, read_pictures, to_patches
from degreespar.party.texts import Text, to_rows

if TYPE_CHECKING:
    from torch import Tensor

    from degreespar.models import Bert, Vit

FLOAT_BATCH = 256
TEXTS_AT_ONCE = 256
Floats = Callable[[Path, DegreePolicy | None], Scores]
"""The scores of the float model in a folder: exact, or a policy in hard mode."""
Words = Callable[[Path], list[str]]
"""Writes what must be a file into a folder; the inputs in the words of `classify`."""


@dataclass(frozen=True)
class Data:
    """Inputs as the program takes them, class numbers where they are known, what to call them.

    `parts` makes the inputs some at a time: a test set of texts may not fit the memory at once.
    """

    public: PublicPart
    count: int
    parts: Iterator[Integers]
    truth: NDArray[np.int64] | None
    names: list[str]
    floats: Floats
    words: Words


def given_data(options: argparse.Namespace, public: PublicPart, client: Client) -> Data:
    """What the command line asks for."""
    if any_given(options) == bool(options.data):
        raise DegreeSparError("simulate needs either inputs or --data")
    if options.data:
        return data_set(options, public, client)
    inputs = read_inputs(options, public, client)
    pixels = read_pictures(options.pictures, public.pictures) if options.pictures else None
    floats = partial(_float_pictures, pixels) if pixels is not None else _no_floats
    chosen = public.at_length(inputs.tokens)
    return Data(
        chosen, len(inputs.rows), iter([inputs.rows]), None, inputs.names, floats, lambda _: inputs.names
    )


def data_set(options: argparse.Namespace, public: PublicPart, client: Client) -> Data:
    """The data of --data, --task, --split and --limit."""
    return _texts(options, public, client) if options.task else _fashion(options, public, client)


def _fashion(options: argparse.Namespace, public: PublicPart, client: Client) -> Data:
    geometry = public.pictures
    if not isinstance(client, ClientPart):
        raise DegreeSparError(f"{public.name} is no model of pictures")
    with extra("train", "reading IDX data"):
        from degreespar.training import load_fashion_mnist
    training, test = load_fashion_mnist(options.data)
    chosen = training if options.split == "train" else test
    pixels = chosen.pixels[: options.limit].transpose(0, 2, 3, 1)
    if pixels.shape[1:] != (geometry.image_px, geometry.image_px, geometry.channels):
        raise DegreeSparError(f"the data's pictures of shape {pixels.shape[1:]} are not the model's")
    truth = chosen.labels[: options.limit].astype(np.int64)
    patches = to_patches(pixels, geometry, client)
    floats = partial(_float_pictures, pixels)
    words = partial(_picture_files, pixels)
    return Data(public, len(pixels), iter([patches]), truth, [], floats, words)


def _texts(options: argparse.Namespace, public: PublicPart, client: Client) -> Data:
    if not isinstance(client, TextPart):
        raise WrongKindError(f"{public.name} takes pictures, not texts")
    with extra("train", "--task"):
        from degreespar.training.text_tasks import load_texts
    splits = load_texts(options.data, options.task)
    if len(splits.label_names) != len(public.labels):
        raise DegreeSparError(f"{options.task} has {len(splits.label_names)} classes, not the model's")
    chosen = (splits.training if options.split == "train" else splits.test).first(options.limit)
    tokens = to_rows(chosen.texts, public, client).tokens if len(chosen) <= TEXTS_AT_ONCE else None
    longest = public.at_length(tokens or public.geometry.tokens)
    starts = range(0, len(chosen), TEXTS_AT_ONCE)
    parts = (to_rows(chosen.texts[at : at + TEXTS_AT_ONCE], longest, client).rows for at in starts)
    floats = partial(_float_texts, chosen.texts, longest.geometry.tokens)
    words = partial(_text_words, chosen.texts)
    return Data(longest, len(chosen), parts, chosen.labels, [], floats, words)


def _picture_files(pixels: Pixels, folder: Path) -> list[str]:
    names = [str(folder / f"{number:05}.png") for number in range(len(pixels))]
    for name, picture in zip(names, pixels, strict=True):
        Image.fromarray(picture.squeeze()).save(name)
    return names


def _text_words(texts: Sequence[Text], folder: Path) -> list[str]:
    pairs = (["--text", first] if second is None else ["--pair", first, second] for first, second in texts)
    return [word for pair in pairs for word in pair]


def _no_floats(folder: Path, policy: DegreePolicy | None) -> Scores:
    raise DegreeSparError(f"texts are compared with the float model in {folder} by --data and --task")


def _float_pictures(pixels: Pixels, folder: Path, policy: DegreePolicy | None) -> Scores:
    with extra("train", "--checkpoint"):
        import torch

        from degreespar.models import Checkpoint
        from degreespar.training.deploy import float_model
    checkpoint = float_model(folder, None, hard=policy is not None)
    if not isinstance(checkpoint, Checkpoint):
        raise WrongKindError(f"{folder} holds no model of pictures")
    channels_first = torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())
    return _scores(checkpoint.model, policy, channels_first, checkpoint.normalisation.apply)


def _float_texts(texts: Sequence[Text], tokens: int, folder: Path, policy: DegreePolicy | None) -> Scores:
    with extra("train", "--checkpoint"):
        from degreespar.models import TextCheckpoint
        from degreespar.training.deploy import float_model
        from degreespar.training.texts import encoded
    checkpoint = float_model(folder, tokens, hard=policy is not None)
    if not isinstance(checkpoint, TextCheckpoint):
        raise WrongKindError(f"{folder} holds no model of texts")
    return _scores(checkpoint.model, policy, encoded(texts, checkpoint.tokeniser, tokens), lambda x: x)


def _scores(
    model: "Vit | Bert", policy: DegreePolicy | None, inputs: "Tensor", prepare: "Callable[[Tensor], Tensor]"
) -> Scores:
    import torch

    model.use(policy)
    model.eval()
    starts = range(0, len(inputs), FLOAT_BATCH)
    with torch.no_grad():
        parts = [model(prepare(inputs[start : start + FLOAT_BATCH])) for start in starts]
    floats: Scores = torch.cat(parts).double().numpy()
    return floats
