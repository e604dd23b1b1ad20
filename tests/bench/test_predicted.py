"""What is predicted of a layer is held against what was measured of it, kind by kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from degreespar.bench.geometries import vit_geometry
from degreespar.bench.layer import Measured, Setting
from degreespar.bench.namespaces import LOOPBACK
from degreespar.bench.networks import NETWORKS
from degreespar.bench.predicted import comparison, comparison_text, predicted_layer, predicted_model
from degreespar.cli.main import main
from degreespar.degree.price_table import default_prices
from degreespar.party.pace import Mode
from degreespar.party.report import Cost

LINE = NETWORKS["wan2"].line
SETTING = Setting("vit-ti", vit_geometry("vit-ti", 2, 17), 2, 2, (LOOPBACK, LOOPBACK))


def test_a_prediction_names_the_kinds_of_a_layer_and_how_far_it_is_off() -> None:
    predicted = predicted_layer(SETTING, default_prices(), None)
    assert set(predicted.kinds) == {"norm", "linear", "attention", "softmax", "gelu"}
    kinds = {
        kind: {"prepare": Cost(2 * part.prepare.seconds), "answer": Cost(2 * part.answer.seconds)}
        for kind, part in predicted.kinds.items()
    }
    measured = Measured(kinds, 2 * predicted.prepare.seconds, 1, 1)
    found = comparison(predicted, measured)
    assert found["predicted_over_measured"] == pytest.approx(0.5)
    assert comparison_text(predicted, measured).count("-50%") == 11


def test_a_model_is_predicted_in_the_mode_that_it_runs_in() -> None:
    measured = Measured({"layer 1": {"prepare": Cost(9.0), "answer": Cost(1.0)}}, 1.0, 1, 1)
    found = {mode: predicted_model(SETTING, default_prices(), LINE, mode, measured) for mode in Mode}
    seconds = {mode: row["predicted_total_seconds"] for mode, row in found.items()}
    assert seconds[Mode.AHEAD] == seconds[Mode.JUST_IN_TIME] > seconds[Mode.OVERLAP]
    off = found[Mode.AHEAD]["predicted_over_measured"]
    assert off == pytest.approx(float(str(seconds[Mode.AHEAD])) / 2)


def test_random_ots_are_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["bench", "ot", "--count", "100000", "--results", str(tmp_path), "--json"]
    assert main(words) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    row = json.loads((tmp_path / "engine.primitive.jsonl").read_text(encoding="utf-8"))
    assert row["metrics"]["cpu_ns_per_ot"] == metrics["cpu_ns_per_ot"] > 0
    assert 0 < metrics["bytes_per_ot"] < 3
