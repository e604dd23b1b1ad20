"""`degreespar simulate`: the exact fixed-point answers, without any cryptography."""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from degreespar.artifact import PublicPart, VitGeometry, read_client, read_server
from degreespar.bench.rows import append, check_folder, measured
from degreespar.cli.arguments import add_model, add_row, new_command, positive_count
from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.engine.saturation import Saturations
from degreespar.errors import DegreeSparError
from degreespar.party.oracle import Oracle, Scores
from degreespar.party.pictures import Pixels, read_pictures, to_patches

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

FLOAT_BATCH = 256


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "simulate",
        "answer pictures in the clear, in exactly the fixed-point arithmetic of a private run",
        "degreespar simulate --model demo/model --data fashion-mnist --limit 1000",
    )
    add_model(parser, "artifact with client's files and weights")
    parser.add_argument("--data", type=Path, metavar="DIR", help="Fashion-MNIST's IDX files")
    parser.add_argument("--split", choices=("train", "test"), default="test", help="of the data")
    parser.add_argument("--limit", type=positive_count, metavar="N", help="only the first N of the data")
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="compare with its float model (torch)")
    parser.add_argument("--batch", type=positive_count, default=16, metavar="N", help="pictures at once")
    parser.add_argument(
        "--processes", type=positive_count, metavar="N", help="default: one per core, no more than batches"
    )
    add_row(parser, "private.eval")
    parser.add_argument("pictures", type=Path, nargs="*", metavar="PICTURE")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class _Inputs:
    """Pictures, their class numbers where they are known, and what to call them."""

    pixels: Pixels
    truth: NDArray[np.int64] | None
    names: list[str]


def run(options: argparse.Namespace, console: Console) -> None:
    """Runs the oracle, and where asked the float model, over all pictures."""
    if options.row:
        check_folder(options.results)
    public, client, digest = read_client(options.model)
    _, tensors, _ = read_server(options.model)
    inputs = _inputs(options, public.geometry)
    patches = to_patches(inputs.pixels, public.geometry, client)
    begin = time.perf_counter()

    def progress(done: int, count: int) -> None:
        console.say(f"{done}/{count} pictures, {time.perf_counter() - begin:.1f} s")

    oracle = Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    processes = options.processes or min(os.cpu_count() or 1, -(-len(patches) // options.batch))
    if processes > 1:
        # Processes of one thread each: threads of the matrix products would only stand in their way.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    done = oracle.simulate_in_batches(patches, options.batch, processes, progress)
    scores = done.scores
    metrics: dict[str, object] = {"pictures": len(scores), "seconds": time.perf_counter() - begin}
    metrics |= {"processes": processes, **_accuracy("fixed_point", scores, inputs)}
    if options.checkpoint:
        metrics |= _against_float(options.checkpoint, public, inputs, scores)
    metrics |= _saturation(done.saturations)
    config = {"artifact": digest, "engine": "clear", "split": options.split, "limit": options.limit}
    if options.row:
        row = measured("private.eval", f"{public.name} in clear fixed point", config, metrics)
        console.say(f"row added to {append(row, options.results)}")
    labels = [public.labels[index] for index in scores.argmax(axis=1)]
    answers = dict(zip(inputs.names, labels, strict=False))
    text = [f"{name}: {label}" for name, label in answers.items()]
    text += [f"{name}: {value:.4g}" for name, value in metrics.items() if isinstance(value, (int, float))]
    text += [f"beyond its bound: {line}" for line in _places(done.saturations)]
    console.result({"artifact": digest, "metrics": metrics, "answers": answers}, "\n".join(text))


def _inputs(options: argparse.Namespace, geometry: VitGeometry) -> _Inputs:
    if bool(options.pictures) == bool(options.data):
        raise DegreeSparError("simulate needs either pictures or --data")
    if options.pictures:
        names = [str(path) for path in options.pictures]
        return _Inputs(read_pictures(options.pictures, geometry), None, names)
    with extra("train", "reading IDX data"):
        from degreespar.training import load_fashion_mnist
    training, test = load_fashion_mnist(options.data)
    chosen = training if options.split == "train" else test
    pixels = chosen.pixels[: options.limit].transpose(0, 2, 3, 1)
    if pixels.shape[1:] != (geometry.image_px, geometry.image_px, geometry.channels):
        raise DegreeSparError(f"the data's pictures of shape {pixels.shape[1:]} are not the model's")
    return _Inputs(pixels, chosen.labels[: options.limit].astype(np.int64), [])


def _accuracy(name: str, scores: Scores, inputs: _Inputs) -> dict[str, float]:
    if inputs.truth is None:
        return {}
    return {f"{name}_accuracy": float((scores.argmax(axis=1) == inputs.truth).mean())}


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


def _against_float(folder: Path, public: PublicPart, inputs: _Inputs, scores: Scores) -> dict[str, object]:
    """The checkpoint's model, exact and in hard mode (the artifact's policy in floating point)."""
    with extra("train", "--checkpoint"):
        import torch

        from degreespar.models import load_checkpoint
    checkpoint = load_checkpoint(folder)
    channels_first = torch.from_numpy(inputs.pixels.transpose(0, 3, 1, 2).copy())
    found: dict[str, object] = {}
    for name, suffix, policy in (("float", "", None), ("hard", "_hard", public.policy)):
        checkpoint.model.use(policy)
        with torch.no_grad():
            parts = [
                checkpoint.model(checkpoint.normalisation.apply(channels_first[start : start + FLOAT_BATCH]))
                for start in range(0, len(channels_first), FLOAT_BATCH)
            ]
        floats = torch.cat(parts).double().numpy()
        found |= _accuracy(name, floats, inputs)
        found[f"agreement{suffix}"] = float((floats.argmax(axis=1) == scores.argmax(axis=1)).mean())
        found[f"largest_score_gap{suffix}"] = float(np.abs(floats - scores).max())
    return found
