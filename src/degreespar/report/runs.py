"""The report of a compression run: learned degrees, what was kept, accuracy against cost, what saved what."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from degreespar.degree import DegreePolicy
from degreespar.numerics import OFF
from degreespar.report.figures import HeatMap, Series, heat_maps, lines, stacked_bars
from degreespar.report.page import Section, Table
from degreespar.report.rows import ReportError


@dataclass(frozen=True)
class RunFiles:
    """What a run folder says, read without torch; `policy` and `figures` are None until it is finished."""

    config: dict[str, Any]
    rows: list[dict[str, Any]]
    policy: DegreePolicy | None
    figures: dict[str, Any] | None

    @staticmethod
    def read(folder: Path) -> "RunFiles":
        """Everything that is there so far."""
        final = folder / "final"
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            text = (folder / "metrics.jsonl").read_text(encoding="utf-8")
            rows = [json.loads(line) for line in text.splitlines()]
            done = (final / "result.json").exists()
            policy = json.loads((final / "policy.json").read_text(encoding="utf-8")) if done else None
            figures = json.loads((final / "result.json").read_text(encoding="utf-8")) if done else None
        except (OSError, ValueError) as error:
            raise ReportError(f"{folder} is not the folder of a run") from error
        return RunFiles(config, rows, None if policy is None else DegreePolicy.from_json(policy), figures)


def run_sections(run: RunFiles) -> list[Section]:
    """The report, from the result down to the settings."""
    finished = run.policy is not None and run.figures is not None
    result = [*_result(run.policy, run.figures)] if run.policy and run.figures else []
    text = "" if finished else "The run is not finished: what follows is what it knows so far."
    settings = Table(("setting", "value"), _settings(run.config))
    return [*result, _history(run.rows, text), _kept(run.rows), Section("Settings", tables=[settings])]


def _result(policy: DegreePolicy, figures: dict[str, Any]) -> list[Section]:
    accuracy = Table(
        ("", "uncompressed", "compressed, hard mode"),
        [
            ("test accuracy", *_percents(figures, "test_accuracy")),
            ("hold-out accuracy", *_percents(figures, "held_out_accuracy")),
            ("predicted seconds", f"{figures['uncompressed_s']:.3f}", f"{figures['compressed_s']:.3f}"),
        ],
    )
    times = f"Predicted cost is {figures['times_cheaper']:.2f} times lower."
    return [Section("Result", times, tables=[accuracy]), _accounts(figures), *_degrees(policy)]


def _accounts(figures: dict[str, Any]) -> Section:
    names = ("degrees", "tokens", "dimensions")
    saved = [figures[f"{name}_s"] for name in names]
    whole, total = figures["uncompressed_s"], sum(saved)
    rows = [
        (name, f"{seconds:.3f}", f"{seconds / whole:.1%}", f"{seconds / total:.1%}")
        for name, seconds in zip(names, saved, strict=True)
    ]
    left, steps = whole, []
    for seconds in (0.0, *saved):
        left -= seconds
        steps.append(left)
    bars = stacked_bars(
        ["uncompressed", "+ degrees", "+ tokens", "+ dimensions"],
        [Series("left", steps)],
        "predicted seconds",
        "What is left after each saving",
    )
    words = (
        "In this order; what comes later finds less left. With degrees alone a removed dimension is a ReLU."
    )
    table = Table(("saved by", "seconds", "of the whole", "of the saving"), rows)
    return Section("What saves what", words, [bars], [table])


def _degrees(policy: DegreePolicy) -> list[Section]:
    layers = list(enumerate(policy.layers, 1))
    squarings = [HeatMap(f"layer {n}", layer.squarings.values.astype(np.float64)) for n, layer in layers]
    orders = [HeatMap(f"layer {n}", layer.gelu_orders.values.astype(np.float64)) for n, layer in layers]
    tops = [max(float(drawn.values.max()) for drawn in maps) for maps in (squarings, orders)]
    return [
        Section(
            "Softmax squarings",
            "Query by key, by position as tokens enter the layer: [CLS], then the ranks of the layer before;"
            f" {OFF} is off.",
            [heat_maps(squarings, "key", "query", float(OFF), max(1.0, tops[0]))],
        ),
        Section(
            "GeLU orders",
            "Rank by kept FFN dimension; 0 is removed, 1 is ReLU. Of the last layer only [CLS] is computed.",
            [heat_maps(orders, "dimension", "rank", 0.0, max(1.0, tops[1]))],
        ),
    ]


def _history(rows: Sequence[dict[str, Any]], text: str) -> Section:
    checks = [row for row in rows if row["stage"] != "baseline"]
    series = []
    for stage in dict.fromkeys(row["stage"] for row in checks):
        chosen = [row for row in checks if row["stage"] == stage]
        accuracies = [100 * row["accuracy"] for row in chosen]
        series.append(Series(stage, accuracies, [row["cost_ratio"] for row in chosen]))
    baseline = [row for row in rows if row["stage"] == "baseline"]
    if baseline:
        series.append(Series("uncompressed", [100 * baseline[0]["accuracy"]], [1.0]))
    drawn = lines(series, "predicted cost, share of uncompressed", "hold-out accuracy, %", "Over the run")
    return Section("Accuracy against cost", text, [drawn] if series else [])


def _kept(rows: Sequence[dict[str, Any]]) -> Section:
    checks = [row for row in rows if "tokens" in row]
    if not checks:
        return Section("Tokens and dimensions kept")
    figures = []
    for name in ("tokens", "dimensions"):
        layers = range(len(checks[0][name]))
        series = [
            Series(f"layer {layer + 1}", [row[name][layer] for row in checks], list(range(len(checks))))
            for layer in layers
        ]
        figures.append(lines(series, "check", name, f"{name.capitalize()} kept, by layer", marks=False))
    return Section("Tokens and dimensions kept", figures=figures)


def _settings(config: dict[str, Any]) -> list[tuple[str, str]]:
    plain = {name: value for name, value in config.items() if name != "recipe"}
    return [(name, json.dumps(value)) for name, value in (plain | config["recipe"]).items()]


def _percents(figures: dict[str, Any], name: str) -> tuple[str, str]:
    return f"{figures[f'uncompressed_{name}']:.2%}", f"{figures[name]:.2%}"
