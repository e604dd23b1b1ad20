"""The rendered parts of documents: each a function from the rows to Markdown."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from degreespar.report.demo import BESIDE, PICTURE, TEXT, aligned, summary
from degreespar.report.markdown import markdown_table
from degreespar.report.rows import ReportError, RowJson, newest_of_each, place_of, read_rows
from degreespar.report.targets import found_or_missing, targets
from degreespar.report.training_blocks import ablation, compressed, sweeps

Block = Callable[[Path], str]


def demo(results: Path) -> str:
    """The newest run of the demo, as it prints it."""
    row = _newest(results, "demo")
    text = f"{aligned(row['metrics']['table'])}\n\n{summary(row['metrics'])}"
    return f"```\n{text}\n```\n\nMeasured: {place_of(row)}."


def accuracy(results: Path) -> str:
    """How the fixed-point engine answers whole test sets, beside the float model, exact and in hard mode."""
    rows = newest_of_each([row for row in read_rows(results, "private.eval") if _has_both(row["metrics"])])
    if not rows:
        raise ReportError("there are no rows of fixed-point accuracy in results/private.eval.jsonl")
    return markdown_table(
        ("model", "inputs", "float", "hard mode", "fixed point", "same label as float", "commit"),
        (
            (
                row["name"],
                f"{row['metrics'].get('texts') or row['metrics']['pictures']:,}",
                _percent(row["metrics"]["float_accuracy"]),
                _percent(row["metrics"]["hard_accuracy"]) if "hard_accuracy" in row["metrics"] else "-",
                _percent(row["metrics"]["fixed_point_accuracy"]),
                _percent(row["metrics"]["agreement"]),
                row["commit"][:7],
            )
            for row in rows
        ),
    )


def private_answers(results: Path) -> str:
    """Answers of two parties, the compressed and the uncompressed model in one run."""
    rows = [row for row in read_rows(results, "private.eval") if row["config"]["engine"] == "two_party"]
    if not rows:
        return "No data set was answered between two parties yet: `degreespar bench answers`."
    header = ("model", "network", "equal to the oracle", "right", "seconds", "online s", "MB", "online MB")
    rows = newest_of_each(rows)
    lines = (_answers(f"{row['name'].split(' between')[0]}{of}", row, part)
             for row in rows for of, part in _models(row))  # fmt: skip
    place = place_of(rows[-1])
    return f"{markdown_table(header, lines)}\n\nMeans of one answer, both directions added. {place}."


def _models(row: RowJson) -> list[tuple[str, Mapping[str, Any]]]:
    metrics = row["metrics"]
    beside = [(", uncompressed", metrics[BESIDE])] if BESIDE in metrics else []
    return [("", metrics), *beside]


def _answers(name: str, row: RowJson, part: Mapping[str, Any]) -> tuple[str, ...]:
    kind = TEXT if f"{TEXT}s" in part else PICTURE
    count = part[f"{kind}s"]
    made, used = (
        sum(part[f"{phase}_{way}_bytes_per_{kind}"] for way in ("to_client", "to_server")) / 1e6
        for phase in ("prepare", "answer")
    )
    return (
        name,
        row["network"],
        f"{part['private_equals_clear']} of {count}",
        f"{part['right']}",
        f"{part[f'wall_s_per_{kind}']:.2f}",
        f"{part[f'answer_seconds_per_{kind}']:.2f}",
        f"{made + used:.1f}",
        f"{used:.1f}",
    )


def primitives(results: Path) -> str:
    """Every primitive: processor time of both parties, bytes and flips."""
    rows = newest_of_each(read_rows(results, "engine.primitive"))
    rows = [row for row in rows if "answer_flips" in row["metrics"]]
    if not rows:
        raise ReportError("there are no rows in results/engine.primitive.jsonl: run `make bench`")
    header = ("primitive", "elements", "prepare ns", "answer ns", "bytes prepare", "bytes answer", "flips")
    table = markdown_table(header, (_primitive(row) for row in rows))
    return f"{table}\n\nPer element, both parties added. {place_of(rows[-1])}."


def engine_targets(results: Path) -> str:
    """Every target of the engine with the newest measurement."""
    rows = ((target.what, target.goal, *found_or_missing(target, results)) for target in targets())
    return markdown_table(("what", "target", "measured", "met"), rows)


def estimates(results: Path) -> str:
    """Predicted beside measured seconds of layers, kind by kind."""
    rows = newest_of_each(read_rows(results, "engine.layer"))
    lines = [line for row in rows if "predicted_kinds" in row["metrics"] for line in _estimate_lines(row)]
    if not lines:
        return "No layer was measured beside its estimate yet: `make bench`."
    header = ("layer", "kind of work", "phase", "measured s", "predicted s", "off")
    return markdown_table(header, lines)


def _estimate_lines(row: RowJson) -> list[tuple[str, ...]]:
    metrics, name = row["metrics"], row["name"]
    lines = []
    for kind, phases in metrics["predicted_kinds"].items():
        for phase, seconds in phases.items():
            if kind in metrics["kinds"]:
                lines.append(
                    (name, kind, phase, *_compared(metrics["kinds"][kind][phase]["seconds"], seconds))
                )
    whole = _compared(metrics["total_seconds"], metrics["predicted_total_seconds"])
    return [*lines, (name, "all", "total", *whole)]


def _compared(measured_s: float, predicted_s: float) -> tuple[str, str, str]:
    off = f"{100 * (predicted_s / measured_s - 1):+.0f} %" if measured_s > 0 else "-"
    return f"{measured_s:.3f}", f"{predicted_s:.3f}", off


def _primitive(row: RowJson) -> tuple[str, ...]:
    metrics, elements = row["metrics"], row["config"]["elements"]
    made, used = (
        (metrics[f"{phase}_to_client_bytes"] + metrics[f"{phase}_to_server_bytes"]) / elements
        for phase in ("prepare", "answer")
    )
    return (
        row["name"],
        f"{elements:,}",
        f"{metrics['prepare_cpu_ns_per_element']:,.0f}",
        f"{metrics['answer_cpu_ns_per_element']:,.0f}",
        f"{made:,.1f}",
        f"{used:,.1f}",
        str(metrics["answer_flips"]),
    )


def _newest(results: Path, kind: str) -> RowJson:
    rows = read_rows(results, kind)
    if not rows:
        raise ReportError(f"there is no row in results/{kind}.jsonl")
    return rows[-1]


def _has_both(metrics: Mapping[str, Any]) -> bool:
    return {"float_accuracy", "fixed_point_accuracy", "agreement"} <= set(metrics)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f} %"


BLOCKS: Mapping[str, Block] = {
    "demo": demo,
    "accuracy": accuracy,
    "private-answers": private_answers,
    "primitives": primitives,
    "targets": engine_targets,
    "estimates": estimates,
    "compressed": compressed,
    "ablation": ablation,
    "sweeps": sweeps,
}
