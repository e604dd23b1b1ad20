"""Train an uncompressed ViT on Fashion-MNIST and leave it as a Hugging Face folder for `degreespar compress`.

    python scripts/train_baseline.py --data FOLDER --out OUT --patch 2 --width 192 --layers 12 --heads 3

5,000 training pictures are held out, the same that `compress` decides by; the test set is not read. With
--teacher-epochs a small convolutional network is trained first and the ViT learns from its answers, too. A
run that was cut short continues after its last whole epoch when the same command is given again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

import torch

from degreespar.artifact import VitGeometry
from degreespar.models import Checkpoint, Normalisation, Vit, save_checkpoint
from degreespar.training.baseline import BaselineSettings, Phase, train_baseline
from degreespar.training.convolutional import ConvolutionalTeacher
from degreespar.training.data import FASHION_MNIST_LABELS, hold_out, load_fashion_mnist
from degreespar.training.execution import Execution
from degreespar.training.loop import EpochReport, LoadedPictures, accuracy
from degreespar.training.mimetic import begin_mimetic
from degreespar.training.run_folder import RunFolder

NORMALISATION = Normalisation((0.2860,), (0.3530,))
HELD_OUT, SPLIT_SEED = 5000, 2026
TEACHER_RATE = 2e-3


def main() -> None:
    """Train the teacher, if any, and the ViT; measure on the hold-out; save."""
    options = read_options()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data, held_out = load(options, device)
    settings = BaselineSettings(
        phases_of(options.phases),
        options.rate,
        options.batch,
        distill=options.distill if options.teacher_epochs else 0.0,
        seed=options.seed,
    )
    execution = Execution(bfloat16=options.bfloat16)
    teacher = trained_teacher(options, data, held_out, settings, execution)
    geometry = VitGeometry(
        28, options.patch, 1, options.width, options.heads, (4 * options.width,) * options.layers, 10, 1e-6
    )
    torch.manual_seed(options.seed)
    model = Vit(geometry)
    if options.mimetic:
        begin_mimetic(model)
    model = model.to(device)
    folder = RunFolder(options.out / "run")
    folder.begin({"settings": asdict(settings), "geometry": asdict(geometry), "mimetic": options.mimetic})
    train_baseline(model, teacher, data, held_out, settings, folder, tell, execution)
    print(json.dumps({"held_out_accuracy": accuracy(model, held_out), "settings": asdict(settings)}))
    save_checkpoint(options.out / "model", Checkpoint(model.eval(), FASHION_MNIST_LABELS, NORMALISATION))


def load(options: argparse.Namespace, device: torch.device) -> tuple[LoadedPictures, LoadedPictures]:
    """What trains, and what is held out."""
    training, _ = load_fashion_mnist(options.data)
    if options.limit:
        training, _ = hold_out(training, len(training) - options.limit, SPLIT_SEED)
    rest, apart = hold_out(training, min(HELD_OUT, len(training) // 5), SPLIT_SEED)
    return LoadedPictures.of(rest, NORMALISATION, device), LoadedPictures.of(apart, NORMALISATION, device)


def trained_teacher(
    options: argparse.Namespace,
    data: LoadedPictures,
    held_out: LoadedPictures,
    settings: BaselineSettings,
    execution: Execution,
) -> ConvolutionalTeacher | None:
    """The convolutional network, or taken up again; None where none is asked for."""
    if not options.teacher_epochs:
        return None
    torch.manual_seed(options.seed)
    teacher = ConvolutionalTeacher(1, len(FASHION_MNIST_LABELS)).to(data.labels.device)
    own = replace(
        settings, phases=(Phase(options.teacher_epochs, 1),), learning_rate=TEACHER_RATE, distill=0.0
    )
    folder = RunFolder(options.out / "teacher")
    folder.begin({"settings": asdict(own)})
    train_baseline(teacher, None, data, held_out, own, folder, tell, execution)
    return teacher.eval().requires_grad_(False)


def phases_of(text: str) -> tuple[Phase, ...]:
    """`10x66,6x98` as ten epochs of 66 patches and six of 98."""
    pairs = [part.split("x") for part in text.split(",")]
    return tuple(Phase(int(epochs), int(patches)) for epochs, patches in pairs)


def tell(epoch: EpochReport) -> None:
    """One line of JSON for an epoch."""
    print(json.dumps(asdict(epoch)), flush=True)


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the four idx .gz files")
    parser.add_argument(
        "--out", type=Path, required=True, help="new folder; the Hugging Face one is OUT/model"
    )
    parser.add_argument("--patch", type=int, default=2)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--phases", default="60x196", help="epochs x patches shown, ...: 10x66,8x98,6x196")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--mimetic", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--teacher-epochs", type=int, default=0)
    parser.add_argument(
        "--distill", type=float, default=0.7, help="share of the loss that the teacher decides"
    )
    parser.add_argument("--bfloat16", action="store_true", help="matrix products on a CPU that has them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=0, help="use so few pictures (a smoke test)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
