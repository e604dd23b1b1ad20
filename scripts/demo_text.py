"""Movie reviews answered privately, between a server process and a client process on this machine.

    python scripts/demo_text.py [--limit N] [--row]

Exits with 1 if a private answer is not the one of the same model in the clear.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from degreespar.artifact import TextPart, read_client, read_server
from degreespar.bench.processes import Pair
from degreespar.bench.rows import append, measured
from degreespar.cli.inputs import shown
from degreespar.errors import DegreeSparError
from degreespar.party.errors import TextError
from degreespar.party.oracle import Oracle, Scores
from degreespar.party.texts import to_rows
from degreespar.report.demo import TEXT, aligned, summary
from degreespar.report.demo_figures import agrees, demo_metrics

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run both parties, compare, report."""
    options = _options()
    begin = time.perf_counter()
    try:
        texts, truth = _sentences(options.sentences, options.limit)
        arguments = [part for text in texts for part in ("--text", text)]
        done = Pair(options.folder, options.model, _say).classify([], arguments).facts
        _say("the same model in the clear")
        scores, labels, cut, selects = _clear(options.model, texts)
        if cut:
            _say(f"{cut} sentences are longer than the model takes: their ends are cut")
        table = {
            TEXT: [shown(text) for text in texts],
            "private answer": [answer["label"] for answer in done["texts"]],
            "in the clear": [labels[index] for index in scores.argmax(axis=1)],
            "truth": truth,
        }
        metrics = demo_metrics(done, TEXT, scores, table, selects)
        print(f"\n{aligned(table)}\n\n{summary(metrics)}")
        _say(f"the whole demo took {time.perf_counter() - begin:.0f} s")
        if options.row:
            config = {"artifact": done["artifact"], "tokens": done["tokens"], "cores_shared": True}
            facts = {**metrics, "table": table}
            row = measured("demo.text", done["model"], config, facts, network="loopback, same machine")
            _say(f"row added to {append(row, ROOT / 'results')}")
    except (DegreeSparError, OSError) as error:
        _say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if agrees(metrics, TEXT) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Movie reviews answered privately between two processes.")
    parser.add_argument("--model", type=Path, default=ROOT / "demo" / "text" / "model")
    parser.add_argument("--sentences", type=Path, default=ROOT / "demo" / "text" / "sentences.json")
    parser.add_argument("--folder", type=Path, default=ROOT / "demo-run" / "text", help="for keys and files")
    parser.add_argument("--limit", type=int, help="only the first N sentences")
    parser.add_argument("--row", action="store_true", help="append the figures to results/")
    return parser.parse_args()


def _sentences(path: Path, limit: int | None) -> tuple[list[str], list[str]]:
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["sentences"][:limit]
        return [entry["text"] for entry in listed], [entry["label"] for entry in listed]
    except (ValueError, KeyError, TypeError) as error:
        raise TextError(f"{path} is no list of sentences and labels") from error


def _clear(model: Path, texts: list[str]) -> tuple[Scores, tuple[str, ...], int, bool]:
    public, client, _ = read_client(model)
    _, tensors, _ = read_server(model)
    if not isinstance(client, TextPart):
        raise DegreeSparError(f"{model} is no model of texts")
    given = to_rows([(text, None) for text in texts], public, client)
    wide = {name: tensor.astype(np.int64) for name, tensor in tensors.items()}
    chosen = public.at_length(given.tokens)
    scores = Oracle(chosen, wide).scores(given.rows)
    return scores, public.labels, sum(given.cut), chosen.policy.selects


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
