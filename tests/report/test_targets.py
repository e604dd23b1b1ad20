"""Targets are read from rows: met, missed, or not measured."""

from __future__ import annotations

import json
from pathlib import Path

from degreespar.bench.rows import append, measured
from degreespar.report.blocks import engine_targets, estimates
from degreespar.report.targets import VIT_S, found_or_missing, targets


def add(folder: Path, kind: str, name: str, metrics: dict[str, object], **config: object) -> None:
    append(measured(kind, name, config, metrics), folder)


def cells(folder: Path) -> dict[str, tuple[str, str]]:
    return {target.what: found_or_missing(target, folder) for target in targets()}


def test_without_rows_nothing_is_measured(tmp_path: Path) -> None:
    assert set(cells(tmp_path).values()) == {("not measured yet", "-")}


def test_layers_beside_spu_and_beside_their_estimate(tmp_path: Path) -> None:
    kinds = {"gelu": {"prepare": {"seconds": 4.0}, "answer": {"seconds": 1.0}}}
    predicted = {
        "kinds": kinds, "predicted_kinds": {"gelu": {"prepare": 5.0, "answer": 1.0}},
        "predicted_total_seconds": 6.0, "predicted_over_measured": 1.2, "total_seconds": 5.0,
    }  # fmt: skip
    spu = {
        "spu": {"seconds": 60.0}, "times_faster_than_spu": 12.0, "bytes_of_spu": 0.41,
        "online_seconds_of_spu": 0.05, "online_bytes_of_spu": 0.1, "answer_flips": 91, "total_seconds": 5.0,
    }  # fmt: skip
    add(tmp_path, "engine.layer", f"{VIT_S} none", spu)
    add(tmp_path, "engine.layer", f"{VIT_S} wan2", predicted)
    found = cells(tmp_path)
    assert found["ViT-S layer, total, beside SPU 0.9.5"] == ("12.0 x (5.0 s, SPU 60.0 s)", "yes")
    assert found["the same, bytes"] == ("41.0 %", "no")
    assert found["flips of a ViT-S layer, online"] == ("91", "no")
    assert found["estimate of a ViT-S layer, WAN2"] == ("6.0 s, measured 5.0 s: +20 %", "no")
    assert "| gelu | prepare | 4.000 | 5.000 | +25 % |" in estimates(tmp_path)


def test_primitives_against_their_figures_and_their_declared_cost(tmp_path: Path) -> None:
    def phases(ns: float, flips: int) -> dict[str, object]:
        found: dict[str, object] = {"answer_cpu_ns_per_element": ns, "prepare_cpu_ns_per_element": 1000.0}
        for phase in ("prepare", "answer"):
            found |= {f"{phase}_to_client_bytes": 1, f"{phase}_to_server_bytes": 2, f"{phase}_flips": flips}
            found[f"{phase}_declared_bytes_and_flips"] = [1, 2, 3]
        return found

    add(tmp_path, "engine.primitive", "mux 24 bits", phases(27.0, 3), elements=5)
    assert cells(tmp_path)["primitives, online"][1] == "yes"
    assert cells(tmp_path)["bytes and flips of every primitive"] == ("2 of 2 phases", "yes")
    add(tmp_path, "engine.primitive", "square 37 bits", phases(12.0, 4), elements=5)
    found = cells(tmp_path)
    assert found["primitives, online"] == ("1 of 2; the slowest, square 37 bits: 12.00 ns, 2.0 x", "no")
    assert found["bytes and flips of every primitive"] == ("2 of 4 phases", "no")


def test_random_ots_memory_and_selection(tmp_path: Path) -> None:
    add(tmp_path, "engine.primitive", "random OT", {"cpu_ns_per_ot": 61.0, "bytes_per_ot": 0.17})
    peaks = {"client_peak_memory_bytes": 2**29, "server_peak_memory_bytes": 2**32}
    add(tmp_path, "engine.model", "vit-b 197 tokens n=6 d=4 none", peaks, layers=3)
    for method, seconds in (("bitonic", 3.0), ("rank", 1.5)):
        name = f"{method} 197 to 128 tokens, width 384 wan2"
        add(tmp_path, "selection", name, {"total_seconds": seconds})
    rows = [json.loads(line) for line in (tmp_path / "engine.primitive.jsonl").read_text().splitlines()]
    assert rows[0]["name"] == "random OT"
    found = cells(tmp_path)
    assert found["memory, ViT-B, client"] == ("0.50 GiB (3 layers)", "yes")
    assert found["memory, ViT-B, server"] == ("4.00 GiB (3 layers)", "no")
    assert found["selection, 197 to 128 tokens, WAN2, total"] == ("1.50 s (rank)", "yes")


def test_the_table_has_every_target(tmp_path: Path) -> None:
    assert len(engine_targets(tmp_path).splitlines()) == 2 + len(targets())
