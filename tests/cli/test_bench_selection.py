"""`degreespar bench selection`: both protocols between two real processes, and a row of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from degreespar.bench.selection import Shape
from degreespar.cli.main import main
from degreespar.degree import METHODS

pytestmark = pytest.mark.slow
SMALL = [
    "bench",
    "selection",
    "--tokens",
    "14",
    "--keep",
    "6",
    "--width",
    "8",
    "--heads",
    "2",
    "--repeats",
    "2",
]


@pytest.mark.parametrize("ranges", [[], ["--ranges", "2", "3"]])
def test_both_protocols_cost_what_they_declare(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ranges: list[str]
) -> None:
    assert main([*SMALL, *ranges, "--results", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    shape = Shape(14, tuple(int(size) for size in ranges[1:]) or (5,), 8, 2)
    rows = [json.loads(line) for line in (tmp_path / "selection.jsonl").read_text().splitlines()]
    assert [row["config"]["method"] for row in rows] == list(METHODS)
    for method in METHODS:
        plan, metrics = shape.plan(method), found[method]
        assert metrics["answer_to_client_bytes"] == plan.bytes_to_client
        assert metrics["answer_to_server_bytes"] == plan.bytes_to_server
        assert len(metrics["total_seconds_of_each"]) == metrics["repetitions"] == 2
    assert found["rank"]["answer_flips"] < found["bitonic"]["answer_flips"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tokens", "9", "--keep", "10"], "10 of 9 tokens cannot be kept"),
        (["--keep", "10", "--ranges", "2", "3"], "ranges of 5 tokens and [CLS] are not 10 kept tokens"),
        (["--server", "127.0.0.1:1"], "two machines need --identity and --trust"),
    ],
)
def test_a_shape_that_cannot_be_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["bench", "selection", *words]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1
