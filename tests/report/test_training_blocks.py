"""Rows of training runs as tables: means over seeds, pairs of naive and aware, the newest of each."""

from __future__ import annotations

from pathlib import Path

from degreespar.bench.rows import append, measured
from degreespar.report.training_blocks import NOTHING, ablation, compressed, sweeps


def add(
    folder: Path, kind: str, name: str, accuracy: float, data: str = "pictures", times: float = 2.0
) -> None:
    metrics = {
        "test_accuracy": accuracy,
        "uncompressed_test_accuracy": 0.9,
        "times_cheaper": times,
        "tokens": [40, 20],
        "dimensions": [64, 32],
    }
    config = {"data": data, "tokens": None, "prices": "paper"}
    append(measured(kind, name, config, metrics), folder)


def test_without_rows_the_tables_say_so(tmp_path: Path) -> None:
    assert {compressed(tmp_path), ablation(tmp_path), sweeps(tmp_path)} == {NOTHING}


def test_an_ablation_sets_naive_beside_aware_over_its_seeds(tmp_path: Path) -> None:
    for seed, (naive, aware) in enumerate([(0.80, 0.86), (0.84, 0.88)]):
        add(tmp_path, "train.ablation", f"ablation, naive n=0 GeLU 1, seed {seed}", naive)
        add(tmp_path, "train.ablation", f"ablation, aware n=0 GeLU 1, seed {seed}", aware)
    add(tmp_path, "train.ablation", "ablation, naive n=1 GeLU 1, seed 0", 0.5)
    lines = ablation(tmp_path).splitlines()
    assert "| pictures | n=0 GeLU 1 | 2 + 2 | 90.00 % | 82.00 % ± 2.83 | 87.00 % ± 1.41 | +5.00 |" in lines
    assert not any("n=1" in line for line in lines)


def test_sweeps_are_apart_by_data_and_point_and_the_newest_row_counts(tmp_path: Path) -> None:
    add(tmp_path, "train.sweep", "lambda_grp, lambda_grp=3e-4, seed 0", 0.1)
    add(tmp_path, "train.sweep", "lambda_grp, lambda_grp=3e-4, seed 0", 0.7, times=3.0)
    add(tmp_path, "train.sweep", "lambda_grp, lambda_grp=3e-4, seed 0", 0.6, data="texts")
    text = sweeps(tmp_path)
    assert "| lambda_grp | pictures | lambda_grp=3e-4 | 1 | 70.00 % | 3.00 | 30 | 48 |" in text
    assert "| lambda_grp | texts | lambda_grp=3e-4 | 1 | 60.00 % | 2.00 | 30 | 48 |" in text


def test_compressed_models_stand_beside_what_they_were(tmp_path: Path) -> None:
    add(tmp_path, "train.final", "a model", 0.89)
    append(measured("train.final", "a baseline", {}, {"test_accuracy": 0.9}), tmp_path)
    text = compressed(tmp_path)
    assert (
        "| a model | pictures | - | 90.00 % | 89.00 % | -1.00 | 2.00 (paper prices) | 40 20 | 64 32 |" in text
    )
    assert "a baseline" not in text
