"""`make demo` on a small made model: the table, the figures and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.made_artifact import made_artifact, selecting_policy, write_picture

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "demo.py"


def _demo(place: Path, *more: str | Path) -> subprocess.CompletedProcess[str]:
    folders = ["--model", place / "model", "--pictures", place / "pictures", "--folder", place / "run"]
    command = [sys.executable, SCRIPT, *folders, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made_artifact(tmp_path / "model")
    (tmp_path / "pictures").mkdir()
    names = [f"{number}.png" for number in range(3)]
    for number, name in enumerate(names):
        write_picture(tmp_path / "pictures" / name, seed=number)
    listed = [{"file": name, "label": "star"} for name in names]
    (tmp_path / "pictures" / "labels.json").write_text(json.dumps({"pictures": listed}))
    return tmp_path


def test_it_compares_every_picture_and_leaves_no_row(place: Path) -> None:
    done = _demo(place)
    assert done.returncode == 0, done.stderr
    assert "private = clear      3/3\n" in done.stdout
    assert "client | picture 3/3 2.png: answer 4/4 (head)" in done.stderr
    assert sorted(path.name for path in (place / "run" / "model" / "client-model").iterdir()) == [
        "client.json",
        "public.json",
    ]


def test_it_shows_two_models_side_by_side(place: Path) -> None:
    made_artifact(place / "other", degrees=selecting_policy())
    done = _demo(place, "--beside", place / "other")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["compressed", "uncompressed"] in lines
    assert ["private", "=", "clear", "3/3", "3/3"] in lines


@pytest.mark.parametrize(("file", "word"), [("server.safetensors", "server"), ("public.json", "public.json")])
def test_it_fails_where_a_party_fails(place: Path, file: str, word: str) -> None:
    (place / "model" / file).write_bytes((place / "model" / file).read_bytes()[:-1])
    done = _demo(place)
    assert done.returncode == 1
    assert word in done.stderr
    assert "Traceback" not in done.stderr
