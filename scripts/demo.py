"""The whole road on one machine: a server process, a client process, real pictures, private answers.

    python scripts/demo.py [--row]

Exits with 1 if a private answer is not the one of the same model in the clear.
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
from degreespar.report.demo import LARGEST_SCORE_GAP, aligned, summary

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Prepare, run both parties, compare, report."""
    options = _options()
    begin = time.perf_counter()
    try:
        pictures = sorted(options.pictures.glob("*.png"))[: options.limit]
        truth = _truth(options.pictures)
        extra = ["--mode", options.mode.value]
        done = Pair(options.folder, options.model, _say).classify(pictures, extra).facts
        _say("the same model in the clear")
        scores = _clear_scores(options.model, pictures)
        labels = json.loads((options.model / "public.json").read_text(encoding="utf-8"))["labels"]
        clear = [labels[index] for index in scores.argmax(axis=1)]
        table = _table(done, pictures, clear, truth)
        metrics = _metrics(done, scores, clear, table)
        print(f"\n{aligned(table)}\n\n{summary(metrics)}")
        _say(f"the whole demo took {time.perf_counter() - begin:.0f} s")
        if options.row:
            _add_row(options, done, {**metrics, "table": table})
    except (DegreeSparError, OSError) as error:
        _say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    same = metrics["private_equals_clear"] == len(pictures)
    return 0 if same and metrics["largest_score_gap"] <= LARGEST_SCORE_GAP else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Private answers between two processes on this machine.")
    parser.add_argument("--model", type=Path, default=ROOT / "demo" / "model")
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


def _clear_scores(model: Path, pictures: list[Path]) -> Scores:
    public, client, _ = read_client(model)
    _, tensors, _ = read_server(model)
    oracle = Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    if not isinstance(client, ClientPart):
        raise DegreeSparError(f"{model} is no model of pictures")
    return oracle.scores(to_patches(read_pictures(pictures, public.pictures), public.pictures, client))


def _table(
    done: dict[str, Any], pictures: list[Path], clear: list[str], truth: dict[str, str]
) -> dict[str, list[str]]:
    """Column by column."""
    return {
        "picture": [path.name for path in pictures],
        "private answer": [answer["label"] for answer in done["pictures"]],
        "in the clear": clear,
        "truth": [truth.get(path.name, "-") for path in pictures],
    }


def _metrics(
    done: dict[str, Any], scores: Scores, clear: list[str], table: dict[str, list[str]]
) -> dict[str, Any]:
    """Means per picture of what the client measured, and how many answers are which."""
    answers = done["pictures"]
    private = table["private answer"]
    gap = np.abs(np.array([answer["scores"] for answer in answers]) - scores).max()
    metrics: dict[str, Any] = {
        "pictures": len(answers),
        "private_equals_clear": sum(mine == other for mine, other in zip(private, clear, strict=True)),
        "right": sum(mine == other for mine, other in zip(private, table["truth"], strict=True)),
        "largest_score_gap": float(gap),
        **{f"set_up_{key}": value for key, value in done["set_up"].items()},
    }
    for phase in ("prepare", "answer"):
        for key in answers[0][phase]:
            metrics[f"{phase}_{key}_per_picture"] = sum(answer[phase][key] for answer in answers) / len(
                answers
            )
    return metrics


def _add_row(options: argparse.Namespace, done: dict[str, Any], metrics: dict[str, Any]) -> None:
    config = {"artifact": done["artifact"], "mode": options.mode.value, "cores_shared": True}
    row = measured("demo", done["model"], config, metrics, network="loopback, same machine")
    _say(f"row added to {append(row, ROOT / 'results')}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
