"""Train one candidate for the demo's model on Fashion-MNIST, measured on held-out training pictures only.

    PYTHONPATH=src python3 scripts/train_demo.py --data carry/fashion-mnist --out OUT --name NAME

writes OUT/NAME.safetensors (the parameters after each stage, prefixed by the stage's name) and
OUT/NAME.json (settings and accuracies). Stage `exact` trains from nothing; each stage `n-d` continues
from it with n squarings and GeLU order d. The test set is left to scripts/make_demo.py.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import torch
from safetensors.torch import save_file

from degreespar.artifact import VitGeometry
from degreespar.models.normalisation import Normalisation
from degreespar.models.vit import Vit
from degreespar.training.data import hold_out, load_fashion_mnist
from degreespar.training.loop import (
    EpochReport,
    LoadedPictures,
    TrainSettings,
    accuracy,
    train,
)
from degreespar.training.policies import uniform_policy

MEAN, STD = (0.2860,), (0.3530,)
HELD_OUT = 5000
SPLIT_SEED = 2026


def main() -> None:
    """Train the candidate that the command line describes."""
    options = read_options()
    geometry = VitGeometry(
        image_px=28,
        patch_px=options.patch,
        channels=1,
        width=options.width,
        heads=options.heads,
        ffn_widths=(options.ffn,) * options.layers,
        classes=10,
        layer_norm_eps=1e-6,
    )
    run = Run(geometry, options)
    run.train_exact()
    for stage in options.finish.split(",") if options.finish else []:
        run.finish(stage)
    run.save()


class Run:
    """One candidate: its model, its data and what was measured so far."""

    def __init__(self, geometry: VitGeometry, options: argparse.Namespace) -> None:
        self.options = options
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(options.seed)
        self.model = Vit(geometry).to(self.device)
        training, _ = load_fashion_mnist(options.data)
        if options.limit:
            training, _ = hold_out(training, len(training) - options.limit, SPLIT_SEED)
        rest, held_out = hold_out(training, min(HELD_OUT, len(training) // 5), SPLIT_SEED)
        normalisation = Normalisation(MEAN, STD)
        self.rest = LoadedPictures.of(rest, normalisation, self.device)
        self.held_out = LoadedPictures.of(held_out, normalisation, self.device)
        self.tensors: dict[str, torch.Tensor] = {}
        self.history: list[dict[str, object]] = []
        self.record: dict[str, object] = {
            "name": options.name,
            "geometry": asdict(geometry),
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "mean": MEAN,
            "std": STD,
            "held_out": len(held_out),
            "split_seed": SPLIT_SEED,
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor(),
            "versions": {"python": platform.python_version(), "torch": torch.__version__},
        }
        self.stages: dict[str, dict[str, object]] = {}

    def train_exact(self) -> None:
        """The first stage: exact softmax and GeLU."""
        settings = self.settings(self.options.epochs, self.options.rate, self.options.warmup)
        self.stage("exact", settings)
        self.exact = {key: value.clone() for key, value in self.model.state_dict().items()}
        self.stages["exact"]["swapped"] = {
            f"{n}-{d}": self.accuracy_at(n, d) for n, d in ((5, 4), (2, 2), (2, 1), (0, 1))
        }
        print(json.dumps(self.stages["exact"]), flush=True)

    def finish(self, stage: str) -> None:
        """From the exact stage's parameters, a few epochs in hard mode."""
        squarings, gelu_order = (int(part) for part in stage.split("-"))
        self.model.load_state_dict(self.exact)
        self.model.use(uniform_policy(self.model.geometry, squarings, gelu_order))
        self.stage(stage, self.settings(self.options.finish_epochs, self.options.finish_rate, 1.0))
        self.model.use(None)

    def stage(self, name: str, settings: TrainSettings) -> None:
        """Train in the mode that the model is in, and keep parameters and accuracy."""
        started_s = time.perf_counter()
        train(self.model, self.rest, self.held_out, settings, lambda e: self.report(name, e))
        self.stages[name] = {
            "settings": asdict(settings),
            "held_out_accuracy": accuracy(self.model, self.held_out),
            "seconds": round(time.perf_counter() - started_s, 1),
        }
        for key, value in self.model.state_dict().items():
            self.tensors[f"{name}/{key}"] = value.detach().cpu().contiguous().clone()
        self.save()

    def settings(self, epochs: int, rate: float, warmup: float) -> TrainSettings:
        """The settings of one stage."""
        options = self.options
        return TrainSettings(
            epochs=epochs,
            learning_rate=rate,
            batch=options.batch,
            weight_decay=options.decay,
            warmup_epochs=warmup,
            seed=options.seed,
            compiled=options.compile and self.device.type == "cuda",
        )

    def accuracy_at(self, squarings: int, gelu_order: int) -> float:
        """Held-out accuracy of the present parameters with the approximations just swapped in."""
        self.model.use(uniform_policy(self.model.geometry, squarings, gelu_order))
        result = accuracy(self.model, self.held_out)
        self.model.use(None)
        return result

    def report(self, stage: str, epoch: EpochReport) -> None:
        """Keep and print the measured epochs."""
        if epoch.accuracy is not None or epoch.epoch < 2:
            self.history.append({"stage": stage, **asdict(epoch)})
            print(self.options.name, stage, epoch, flush=True)

    def save(self) -> None:
        """Write what there is so far: a run that is cut short still leaves its finished stages."""
        out = self.options.out
        out.mkdir(parents=True, exist_ok=True)
        save_file(self.tensors, str(out / f"{self.options.name}.safetensors"))
        when = datetime.now(timezone.utc).isoformat(timespec="seconds")
        record = {**self.record, "stages": self.stages, "history": self.history, "when": when}
        (out / f"{self.options.name}.json").write_text(json.dumps(record, indent=1) + "\n")


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the four idx .gz files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--patch", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--ffn", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--warmup", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--finish", default="5-4,2-2", help="stages of squarings-order, comma separated")
    parser.add_argument("--finish-epochs", type=int, default=15)
    parser.add_argument("--finish-rate", type=float, default=4e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="use so few pictures (a smoke test)")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
