"""Rows: complete, valid JSON, appended."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from degreespar.bench.rows import RowError, append, current_commit, measured

KEYS = {"kind", "name", "commit", "machine", "network", "seed", "versions", "config", "metrics", "when"}


def test_rows_are_appended_one_json_line_each(tmp_path: Path) -> None:
    for seconds in (1.5, 2.5):
        path = append(measured("demo", "a model", {"pictures": 2}, {"answer_s": seconds}, seed=3), tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert path == tmp_path / "demo.jsonl"
    assert [row["metrics"]["answer_s"] for row in rows] == [1.5, 2.5]
    assert all(set(row) == KEYS for row in rows)
    assert set(rows[0]["machine"]) == {"cpu", "cores", "gpu"}
    assert rows[0]["machine"]["cores"] >= 1


def test_new_rows_do_not_make_a_commit_unclean_but_other_changes_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    for name in ("code.py", "results/demo.jsonl"):
        (tmp_path / name).write_text("x\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    clean = current_commit()
    assert re.fullmatch("[0-9a-f]{40}", clean)
    (tmp_path / "results" / "demo.jsonl").write_text("x\ny\n")
    monkeypatch.chdir(tmp_path / "results")
    assert current_commit() == clean
    (tmp_path / "code.py").write_text("y\n")
    assert current_commit() == f"{clean}+"


@pytest.mark.parametrize(
    ("kind", "name", "metrics"), [("rumour", "a", {"x": 1}), ("demo", "", {"x": 1}), ("demo", "a", {})]
)
def test_a_row_that_says_nothing_is_refused(kind: str, name: str, metrics: dict[str, object]) -> None:
    with pytest.raises(RowError):
        measured(kind, name, {}, metrics)


def test_a_figure_that_is_none_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="cannot write"):
        append(measured("demo", "a", {}, {"accuracy": float("nan")}), tmp_path)
    assert not (tmp_path / "demo.jsonl").exists()
