"""`degreespar bench answers`: private answers counted against the oracle, two models in one row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from degreespar.cli.main import main
from tests.support.made_text_artifact import made_text_artifact

pytestmark = pytest.mark.slow


def _mnli(folder: Path) -> None:
    """Made pairs in the form of GLUE's MNLI: three classes, as the made model has."""
    for split, word, count in (("train", "a", 60), ("validation_matched", "b", 3)):
        rows = [{"premise": f"{word} {n}", "hypothesis": "c", "label": n % 3} for n in range(count)]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_it_counts_private_answers_of_two_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_text_artifact(tmp_path / "scores")
    made_text_artifact(tmp_path / "label", reveal="label")
    _mnli(tmp_path)
    command = ["bench", "answers", "--model", str(tmp_path / "scores"), "--beside", str(tmp_path / "label")]
    data = ["--data", str(tmp_path), "--task", "glue/mnli", "--limit", "2"]
    assert main([*command, *data, "--results", str(tmp_path / "rows"), "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    for model in (metrics, metrics["uncompressed"]):
        assert (model["texts"], model["private_equals_clear"]) == (2, 2)
        assert model["wall_s_per_text"] > 0
    assert metrics["largest_score_gap"] < 0.1
    row = json.loads((tmp_path / "rows" / "private.eval.jsonl").read_text())
    assert row["metrics"]["artifact"] == metrics["artifact"]
