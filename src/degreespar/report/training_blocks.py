"""Rendered parts of documents about learned policies: results, ablations and sweeps of training runs."""

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from degreespar.report.markdown import markdown_table
from degreespar.report.rows import RowJson, newest_of_each, place_of, read_rows

FINAL, ABLATION, SWEEP = "train.final", "train.ablation", "train.sweep"
NAIVE, AWARE = "naive ", "aware "
_SWEPT = re.compile(r"(?P<sweep>.+), (?P<point>[^,]+), seed (?P<seed>\d+)")
NOTHING = "No run of this kind was made yet: docs/guide/compress.md has the commands."


@dataclass(frozen=True)
class Swept:
    """One run of a sweep, its name taken apart."""

    sweep: str
    point: str
    data: str
    row: RowJson

    @property
    def accuracy(self) -> float:
        """On the test set, in hard mode, in percent."""
        return 100 * float(self.row["metrics"]["test_accuracy"])

    @property
    def times_cheaper(self) -> float:
        """By the prices of the run."""
        return float(self.row["metrics"]["times_cheaper"])


def compressed(results: Path) -> str:
    """Every compressed model: accuracy before and after, predicted cost, what is left of it."""
    rows = [row for row in newest_of_each(read_rows(results, FINAL)) if "times_cheaper" in row["metrics"]]
    if not rows:
        return NOTHING
    header = (
        *("model", "data", "tokens", "uncompressed", "compressed", "points", "times cheaper"),
        *("tokens kept", "FFN dimensions kept", "commit"),
    )
    return markdown_table(header, (_compressed(row) for row in rows))


def _compressed(row: RowJson) -> tuple[str, ...]:
    metrics = row["metrics"]
    before, after = 100 * metrics["uncompressed_test_accuracy"], 100 * metrics["test_accuracy"]
    return (
        row["name"],
        row["config"]["data"],
        str(row["config"]["tokens"] or "-"),
        f"{before:.2f} %",
        f"{after:.2f} %",
        f"{after - before:+.2f}",
        f"{metrics['times_cheaper']:.2f} ({row['config']['prices']} prices)",
        _counts(metrics["tokens"]),
        _counts(metrics["dimensions"]),
        row["commit"][:7],
    )


def ablation(results: Path) -> str:
    """Fine-tuning against approximation-aware training, for every pair of degrees: means over seeds."""
    runs = list(_swept(read_rows(results, ABLATION)))
    if not runs:
        return NOTHING
    header = ("data", "degrees", "seeds", "uncompressed", "naive", "aware", "aware - naive")
    lines = []
    for (data, degrees), (naive, aware) in _pairs(runs).items():
        before = 100 * naive[0].row["metrics"]["uncompressed_test_accuracy"]
        gap = statistics.mean(_accuracies(aware)) - statistics.mean(_accuracies(naive))
        seeds = f"{len(naive)} + {len(aware)}"
        cells = (f"{before:.2f} %", _spread(_accuracies(naive)), _spread(_accuracies(aware)), f"{gap:+.2f}")
        lines.append((data, degrees, seeds, *cells))
    place = place_of(runs[-1].row)
    return f"{markdown_table(header, lines)}\n\nMean and standard deviation over seeds. {place}."


def _pairs(runs: Sequence[Swept]) -> Mapping[tuple[str, str], tuple[list[Swept], list[Swept]]]:
    """By data and degrees: naive runs and aware ones, where there are both."""
    found: dict[tuple[str, str], tuple[list[Swept], list[Swept]]] = {}
    for run in runs:
        for number, word in enumerate((NAIVE, AWARE)):
            if run.point.startswith(word):
                key = run.data, run.point.removeprefix(word)
                found.setdefault(key, ([], []))[number].append(run)
    return {key: both for key, both in found.items() if all(both)}


def sweeps(results: Path) -> str:
    """Every point of every sweep: means over its seeds."""
    runs = list(_swept(read_rows(results, SWEEP)))
    if not runs:
        return NOTHING
    groups: dict[tuple[str, str, str], list[Swept]] = {}
    for run in runs:
        groups.setdefault((run.sweep, run.data, run.point), []).append(run)
    header = ("sweep", "data", "point", "seeds", "test accuracy", "times cheaper", "tokens kept", "FFN kept")
    lines = (
        (
            sweep,
            data,
            point,
            str(len(group)),
            _spread(_accuracies(group)),
            _spread([run.times_cheaper for run in group], ""),
            _mean_share(group, "tokens"),
            _mean_share(group, "dimensions"),
        )
        for (sweep, data, point), group in groups.items()
    )
    words = (
        "Mean and standard deviation over seeds; tokens and FFN dimensions are means over layers and seeds."
    )
    return f"{markdown_table(header, lines)}\n\n{words} {place_of(runs[-1].row)}."


def _swept(rows: Iterable[RowJson]) -> Iterator[Swept]:
    """The newest of each, by data: one sweep may have been run on several."""
    newest = {(row["name"], _data(row)): row for row in rows}
    for (name, data), row in newest.items():
        found = _SWEPT.fullmatch(name)
        if found:
            yield Swept(found["sweep"], found["point"], data, row)


def _data(row: RowJson) -> str:
    tokens = row["config"].get("tokens")
    return str(row["config"]["data"]) + (f", {tokens} tokens" if tokens else "")


def _accuracies(runs: Sequence[Swept]) -> list[float]:
    return [run.accuracy for run in runs]


def _spread(values: Sequence[float], unit: str = " %") -> str:
    mean = f"{statistics.mean(values):.2f}{unit}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def _mean_share(runs: Sequence[Swept], name: str) -> str:
    return f"{statistics.mean(statistics.mean(run.row['metrics'][name]) for run in runs):.0f}"


def _counts(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)
