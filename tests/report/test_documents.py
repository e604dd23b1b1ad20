"""Documents say what the rows say, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from degreespar.bench.rows import append, measured
from degreespar.report.documents import documents, rendered
from degreespar.report.rows import ReportError

ROOT = Path(__file__).parent.parent.parent
TEXT = "before\n<!-- rendered from results/: accuracy -->\nold\n<!-- end -->\nafter\n"


def _accuracy_row(folder: Path, fixed: float, name: str = "a model") -> None:
    metrics = {"pictures": 2000, "float_accuracy": 0.5, "fixed_point_accuracy": fixed, "agreement": 1.0}
    append(measured("private.eval", name, {}, metrics), folder)


def test_a_block_is_replaced_and_the_rest_kept(tmp_path: Path) -> None:
    _accuracy_row(tmp_path, 0.4321)
    text = rendered(TEXT, tmp_path)
    assert text.startswith("before\n<!-- rendered from results/: accuracy -->\n| model |")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "| a model | 2,000 | 50.00 % | - | 43.21 % | 100.00 % |" in text
    assert "old" not in text
    assert rendered(text, tmp_path) == text


def test_the_newest_row_of_a_name_counts(tmp_path: Path) -> None:
    for fixed in (0.1, 0.2):
        _accuracy_row(tmp_path, fixed)
    _accuracy_row(tmp_path, 0.3, "another")
    text = rendered(TEXT, tmp_path)
    assert "10.00 %" not in text
    assert text.index("20.00 %") < text.index("30.00 %")


@pytest.mark.parametrize("name", ["rumours", "demo", "primitives", "accuracy"])
def test_a_block_without_rows_or_name_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReportError):
        rendered(f"<!-- rendered from results/: {name} -->\n<!-- end -->\n", tmp_path)


def test_rows_that_are_no_rows_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "private.eval.jsonl").write_text("{broken\n")
    with pytest.raises(ReportError, match="one JSON object a line"):
        rendered(TEXT, tmp_path)


def test_every_document_of_the_project_is_rendered() -> None:
    held = {path.name: path.read_text(encoding="utf-8") for path in documents(ROOT)}
    assert "<!-- rendered from results/: demo -->" in held["README.md"]
    for name, text in held.items():
        assert rendered(text, ROOT / "results") == text, f"{name} is not what results/ says: run make docs"
