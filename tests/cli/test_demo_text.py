"""`make demo-text` on a small made model: the table, the figures and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from degreespar.bench.processes import Pair
from tests.support.made_text_artifact import LABELS, made_text_artifact

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "demo_text.py"


def _demo(place: Path) -> subprocess.CompletedProcess[str]:
    given = ["--model", place / "model", "--sentences", place / "sentences.json", "--folder", place / "run"]
    return subprocess.run([sys.executable, SCRIPT, *given], capture_output=True, text=True, timeout=100)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made_text_artifact(tmp_path / "model")
    listed = [{"text": "a good film!", "label": "good"}, {"text": "bad", "label": "bad"}]
    (tmp_path / "sentences.json").write_text(json.dumps({"sentences": listed}))
    return tmp_path


def test_it_compares_every_sentence(place: Path) -> None:
    done = _demo(place)
    assert done.returncode == 0, done.stderr
    assert "private = clear   2/2" in done.stdout
    assert done.stdout.lstrip().startswith("text ")
    assert "client | text 2/2 bad: answer 4/4 (head)" in done.stderr
    held = sorted(path.name for path in (place / "run" / "client-model").iterdir())
    assert held == ["client.json", "client.safetensors", "public.json"]


@pytest.mark.parametrize(
    ("file", "word"), [("model/client.safetensors", "client.safetensors"), ("sentences.json", "sentences")]
)
def test_it_fails_where_something_is_damaged(place: Path, file: str, word: str) -> None:
    (place / file).write_bytes((place / file).read_bytes()[:-5])
    done = _demo(place)
    assert done.returncode == 1
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_label_alone_crosses_the_command_line_without_scores(place: Path) -> None:
    made_text_artifact(place / "model", reveal="label")
    lines: list[str] = []
    asked = ["--text", "a good film!", "--pair", "bad", "film", "--probabilities"]
    facts = Pair(place / "run", place / "model", lines.append).classify([], asked).facts
    assert [answer["text"] for answer in facts["texts"]] == ["a good film!", "bad"]
    assert all(answer["label"] in LABELS for answer in facts["texts"])
    assert all(answer["scores"] is None and answer["probabilities"] is None for answer in facts["texts"])
