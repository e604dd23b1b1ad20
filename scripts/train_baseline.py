"""Train an uncompressed ViT on Fashion-MNIST and leave it as a Hugging Face folder for `degreespar compress`.

    python scripts/train_baseline.py --data FOLDER --out OUT --patch 2 --width 192 --layers 12 --heads 3

5,000 training pictures are held out, the same that `compress` decides by; the test set is not read.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from degreespar.artifact import VitGeometry
from degreespar.models import Checkpoint, Normalisation, Vit, save_checkpoint
from degreespar.training.data import FASHION_MNIST_LABELS, hold_out, load_fashion_mnist
from degreespar.training.loop import LoadedPictures, TrainSettings, accuracy, train

NORMALISATION = Normalisation((0.2860,), (0.3530,))
HELD_OUT, SPLIT_SEED = 5000, 2026


def main() -> None:
    """Train, measure on the hold-out, save."""
    options = read_options()
    geometry = VitGeometry(
        28, options.patch, 1, options.width, options.heads, (4 * options.width,) * options.layers, 10, 1e-6
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(options.seed)
    model = Vit(geometry).to(device)
    training, _ = load_fashion_mnist(options.data)
    if options.limit:
        training, _ = hold_out(training, len(training) - options.limit, SPLIT_SEED)
    rest, apart = hold_out(training, min(HELD_OUT, len(training) // 5), SPLIT_SEED)
    data, held_out = (LoadedPictures.of(part, NORMALISATION, device) for part in (rest, apart))
    settings = TrainSettings(
        options.epochs, options.rate, batch=options.batch, seed=options.seed, compiled=device.type == "cuda"
    )
    train(model, data, held_out, settings, lambda epoch: print(json.dumps(asdict(epoch)), flush=True))
    print(json.dumps({"held_out_accuracy": accuracy(model, held_out), "settings": asdict(settings)}))
    save_checkpoint(options.out, Checkpoint(model.eval(), FASHION_MNIST_LABELS, NORMALISATION))


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the four idx .gz files")
    parser.add_argument("--out", type=Path, required=True, help="new Hugging Face folder")
    parser.add_argument("--patch", type=int, default=2)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=0, help="use so few pictures (a smoke test)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
