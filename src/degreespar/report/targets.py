"""The engine's targets beside what was measured: every line from the newest row of its kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from degreespar.report.rows import RowJson, newest_of_each, read_rows

PRIMITIVE, LAYER, MODEL, SELECTION = "engine.primitive", "engine.layer", "engine.model", "selection"
ONLINE_NS: Mapping[str, float] = {
    "less_than 12 bits, 1 thresholds": 9.0,
    "less_than 16 bits, 1 thresholds": 10.5,
    "less_than 20 bits, 1 thresholds": 13.0,
    "less_than 28 bits, 1 thresholds": 17.0,
    "less_than 37 bits, 1 thresholds": 22.0,
    "mux 24 bits": 27.0,
    "extend 24 bits": 7.0,
    "square 37 bits": 6.0,
}
"""The prototypes' figures for the answer phase, one core for both parties (design, engine section 3)."""
PREPARE_S: Mapping[str, float] = {
    "linear 37 bits, 197x384x1152": 0.36,
    "matmul 37 bits, 6x197x64x197": 1.10,
    "matmul 37 bits, 6x197x197x64": 0.88,
}
"""Those for matrix products, server and client on one core (section 4)."""
WITHIN = 1.5
VIT_S = "vit-s 197 tokens n=6 d=4"
SELECTION_NAME = "197 to 128 tokens, width 384 wan2"
GIB = 2**30

Found = tuple[str, bool]
"""What was measured, in words, and whether it meets the target."""


@dataclass(frozen=True)
class Target:
    """A line of the table; `read` gives None where no row was measured yet."""

    what: str
    goal: str
    read: Callable[[Path], Found | None]


def targets() -> Sequence[Target]:
    """In the order of the design."""
    return (
        Target("random OT, one core for both parties", "<= 60 ns (stretch 30)", _random_ot),
        Target("primitives, online", f"within {WITHIN} x of the prototypes", _primitives),
        Target("bytes and flips of every primitive", "as declared, exactly", _as_declared),
        Target("linear and attention products", f"within {WITHIN} x of the prototypes", _products),
        Target("ViT-S layer, total, beside SPU 0.9.5", ">= 12 x faster (stretch 20)", _faster),
        Target("the same, bytes", "<= 40 % (stretch 33 %)", _part_of_spu("bytes_of_spu", 0.40)),
        Target("the same, online seconds", "<= 6 %", _part_of_spu("online_seconds_of_spu", 0.06)),
        Target("the same, online bytes", "<= 15 %", _part_of_spu("online_bytes_of_spu", 0.15)),
        Target("flips of a ViT-S layer, online", "<= 90", _layer_flips),
        Target("flips of a row maximum of 197", "<= 30", _maximum_flips),
        Target("selection, 197 to 128 tokens, WAN2, total", "< 1.73 s", _selection),
        Target("estimate of a ViT-S layer, LAN", "within 15 %", _estimate("lan")),
        Target("estimate of a ViT-S layer, WAN2", "within 15 %", _estimate("wan2")),
        Target("memory, ViT-B, client", "<= 1 GiB", _memory("client_peak_memory_bytes", 1)),
        Target("memory, ViT-B, server", "<= 2 GiB", _memory("server_peak_memory_bytes", 2)),
    )


def found_or_missing(target: Target, results: Path) -> tuple[str, str]:
    """The two cells of a line."""
    found = target.read(results)
    return ("not measured yet", "-") if found is None else (found[0], "yes" if found[1] else "no")


def _random_ot(results: Path) -> Found | None:
    row = _newest(results, PRIMITIVE, "random OT")
    if row is None:
        return None
    ns = row["metrics"]["cpu_ns_per_ot"]
    return f"{ns:.0f} ns, {row['metrics']['bytes_per_ot']:.2f} B", ns <= 60


def _primitives(results: Path) -> Found | None:
    return _worst(results, ONLINE_NS, lambda row: row["metrics"]["answer_cpu_ns_per_element"], "ns")


def _products(results: Path) -> Found | None:
    def seconds(row: RowJson) -> float:
        return 1e-9 * float(row["metrics"]["prepare_cpu_ns_per_element"]) * int(row["config"]["elements"])

    return _worst(results, PREPARE_S, seconds, "s")


def _worst(
    results: Path, figures: Mapping[str, float], read: Callable[[RowJson], float], unit: str
) -> Found | None:
    rows = {row["name"]: row for row in newest_of_each(read_rows(results, PRIMITIVE))}
    measured = {name: read(rows[name]) for name in figures if name in rows}
    if not measured:
        return None
    ratio, name = max((value / figures[name], name) for name, value in measured.items())
    within = sum(value <= WITHIN * figures[name] for name, value in measured.items())
    words = f"{within} of {len(measured)}; the slowest, {name}: {measured[name]:.2f} {unit}, {ratio:.1f} x"
    return words, ratio <= WITHIN


def _as_declared(results: Path) -> Found | None:
    rows = newest_of_each(read_rows(results, PRIMITIVE))
    metered = [row["metrics"] for row in rows if "answer_flips" in row["metrics"]]
    phases = [(metrics, phase) for metrics in metered for phase in ("prepare", "answer")]
    if not phases:
        return None
    right = sum(_phase_as_declared(metrics, phase) for metrics, phase in phases)
    return f"{right} of {len(phases)} phases", right == len(phases)


def _phase_as_declared(metrics: Mapping[str, object], phase: str) -> bool:
    seen = [metrics[f"{phase}_{key}"] for key in ("to_client_bytes", "to_server_bytes", "flips")]
    return seen == metrics[f"{phase}_declared_bytes_and_flips"]


def _with_spu(results: Path) -> RowJson | None:
    rows = [row for row in read_rows(results, LAYER) if row["name"] == f"{VIT_S} none"]
    return next((row for row in reversed(rows) if "spu" in row["metrics"]), None)


def _faster(results: Path) -> Found | None:
    row = _with_spu(results)
    if row is None:
        return None
    metrics = row["metrics"]
    times = metrics["times_faster_than_spu"]
    return (
        f"{times:.1f} x ({metrics['total_seconds']:.1f} s, SPU {metrics['spu']['seconds']:.1f} s)",
        times >= 12,
    )


def _part_of_spu(metric: str, most: float) -> Callable[[Path], Found | None]:
    def read(results: Path) -> Found | None:
        row = _with_spu(results)
        if row is None:
            return None
        part = row["metrics"][metric]
        return f"{100 * part:.1f} %", part <= most

    return read


def _layer_flips(results: Path) -> Found | None:
    row = _newest(results, LAYER, f"{VIT_S} none")
    return None if row is None else _flips(row, 90)


def _maximum_flips(results: Path) -> Found | None:
    rows = read_rows(results, PRIMITIVE)
    rows = [row for row in rows if row["name"].startswith("maximum ") and row["config"].get("cols") == 197]
    return _flips(rows[-1], 30) if rows else None


def _flips(row: RowJson, most: int) -> Found:
    flips = row["metrics"]["answer_flips"]
    return str(flips), flips <= most


def _selection(results: Path) -> Found | None:
    rows = [row for row in read_rows(results, SELECTION) if row["name"].endswith(SELECTION_NAME)]
    if not rows:
        return None
    best = min(newest_of_each(rows), key=lambda row: row["metrics"]["total_seconds"])
    seconds = best["metrics"]["total_seconds"]
    return f"{seconds:.2f} s ({best['name'].split()[0]})", seconds < 1.73


def _estimate(network: str) -> Callable[[Path], Found | None]:
    def read(results: Path) -> Found | None:
        rows = [row for row in read_rows(results, LAYER) if row["name"] == f"{VIT_S} {network}"]
        row = next((row for row in reversed(rows) if "predicted_over_measured" in row["metrics"]), None)
        if row is None:
            return None
        metrics = row["metrics"]
        off = metrics["predicted_over_measured"] - 1
        words = f"{metrics['predicted_total_seconds']:.1f} s, measured {metrics['total_seconds']:.1f} s"
        return f"{words}: {100 * off:+.0f} %", abs(off) <= 0.15

    return read


def _memory(metric: str, most_gib: int) -> Callable[[Path], Found | None]:
    def read(results: Path) -> Found | None:
        rows = [row for row in read_rows(results, MODEL) if row["name"].startswith("vit-b ")]
        if not rows:
            return None
        gib = rows[-1]["metrics"][metric] / GIB
        return f"{gib:.2f} GiB ({rows[-1]['config']['layers']} layers)", gib <= most_gib

    return read


def _newest(results: Path, kind: str, name: str) -> RowJson | None:
    rows = [row for row in read_rows(results, kind) if row["name"] == name]
    return rows[-1] if rows else None
