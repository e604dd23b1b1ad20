"""The whole road on one machine: a server process, a client process, real pictures, private answers.

    python scripts/demo.py [--model demo/model-compressed --beside demo/model] [--row]

`--beside` has the model that the first was compressed from answer the same pictures and shows the figures
side by side. Exits with 1 if a private answer is not the one of the same model in the clear.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from degreespar.artifact import ClientPart, read_client, read_server
from degreespar.bench.processes import Pair
from degreespar.bench.rows import append, measured
from degreespar.errors import DegreeSparError
from degreespar.party.oracle import Oracle, Scores
from degreespar.party.pace import Mode
from degreespar.party.pictures import read_pictures, to_patches
from degreespar.report.demo import BESIDE, PICTURE, aligned, summary
from degreespar.report.demo_figures import agrees, demo_metrics

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Both models after one another: private answers, the same in the clear, the figures side by side."""
    options = _options()
    begin = time.perf_counter()
    try:
        pictures = sorted(options.pictures.glob("*.png"))[: options.limit]
        truth = _truth(options.pictures)
        name, metrics, table = _answered(options, options.model, pictures, truth)
        if options.beside is not None:
            metrics[BESIDE] = _answered(options, options.beside, pictures, truth)[1]
        print(f"\n{aligned(table)}\n\n{summary(metrics)}")
        _say(f"the whole demo took {time.perf_counter() - begin:.0f} s")
        if options.row:
            config = {"mode": options.mode.value, "cores_shared": True}
            figures = {**metrics, "table": table}
            row = measured("demo", name, config, figures, network="loopback, same machine")
            _say(f"row added to {append(row, ROOT / 'results')}")
    except (DegreeSparError, OSError) as error:
        _say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if all(agrees(each, PICTURE) for each in (metrics, metrics.get(BESIDE, metrics))) else 1


def _answered(
    options: argparse.Namespace, model: Path, pictures: list[Path], truth: dict[str, str]
) -> tuple[str, dict[str, Any], dict[str, list[str]]]:
    """Name, figures and table of one model."""
    _say(f"private answers of {model.name}")
    done = (
        Pair(options.folder / model.name, model, _say)
        .classify(pictures, ["--mode", options.mode.value])
        .facts
    )
    _say(f"{model.name} in the clear")
    scores, labels, selects = _clear(model, pictures)
    table = {
        PICTURE: [path.name for path in pictures],
        "private answer": [answer["label"] for answer in done["pictures"]],
        "in the clear": [labels[index] for index in scores.argmax(axis=1)],
        "truth": [truth.get(path.name, "-") for path in pictures],
    }
    metrics = {"artifact": done["artifact"], **demo_metrics(done, PICTURE, scores, table, selects)}
    return done["model"], metrics, table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Private answers between two processes on this machine.")
    parser.add_argument("--model", type=Path, default=ROOT / "demo" / "model")
    parser.add_argument("--beside", type=Path, metavar="MODEL", help="another model for the second column")
    parser.add_argument("--pictures", type=Path, default=ROOT / "demo" / "pictures")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "demo-run", help="for keys and the client's files"
    )
    parser.add_argument("--limit", type=int, help="only the first N pictures")
    parser.add_argument(
        "--mode",
        type=Mode,
        default=Mode.AHEAD,
        help="of `degreespar classify` (default: ahead, phases apart)",
    )
    parser.add_argument("--row", action="store_true", help="append the figures to results/demo.jsonl")
    return parser.parse_args()


def _truth(pictures: Path) -> dict[str, str]:
    listed = json.loads((pictures / "labels.json").read_text(encoding="utf-8"))["pictures"]
    return {entry["file"]: entry["label"] for entry in listed}


def _clear(model: Path, pictures: list[Path]) -> tuple[Scores, tuple[str, ...], bool]:
    public, client, _ = read_client(model)
    _, tensors, _ = read_server(model)
    if not isinstance(client, ClientPart):
        raise DegreeSparError(f"{model} is no model of pictures")
    oracle = Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    patches = to_patches(read_pictures(pictures, public.pictures), public.pictures, client)
    return oracle.scores(patches), public.labels, public.policy.selects


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
