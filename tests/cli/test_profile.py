"""From a run by two processes to its profile, and from that to figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from degreespar.artifact import read_client
from degreespar.bench.processes import Pair
from degreespar.cli.main import FAILED, main
from degreespar.party.demand import Demand
from degreespar.party.errors import ProfileError
from degreespar.party.profile import Profile, read_profile, write_profile
from degreespar.party.report import Cost, RunReport, WindowReport, total
from degreespar.report.profile import profile_figure, profile_table
from tests.support.made_artifact import made_artifact, write_picture

Capture = pytest.CaptureFixture[str]
REPORT = RunReport(
    (
        WindowReport("embedding", Cost(0.5, 1, 2, 3), Cost(0.25, 4, 5, 6)),
        WindowReport("layer 1", Cost(0.125), Cost(0.125)),
        WindowReport("layer 1/gelu", Cost(1.0, 10, 20, 2), Cost(2.0, 30, 40, 4)),
        WindowReport("layer 1/norm", Cost(4.0, 10, 20, 2), Cost(2.0, 30, 40, 4)),
        WindowReport("layer 1/gelu", Cost(8.0, 10, 20, 2), Cost(2.0, 30, 40, 4)),
    )
)


def profile() -> Profile:
    return Profile.of_runs("made", "0" * 64, [REPORT, REPORT])


def test_parts_of_one_kind_are_added_and_silent_windows_left_out() -> None:
    parts = profile().parts
    assert list(parts) == [("embedding", ""), ("layer 1", "gelu"), ("layer 1", "norm")]
    assert parts["layer 1", "gelu"]["prepare"] == Cost(18.0, 40, 80, 8)


def test_a_profile_comes_back_from_its_file(tmp_path: Path) -> None:
    write_profile(tmp_path / "p.json", profile())
    assert read_profile(tmp_path / "p.json") == profile()


def test_bars_are_means_of_one_answer() -> None:
    figure = profile_figure(profile(), "seconds", "answer")
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == [0.25, 0.0, 0.0, 4.0, 0.0, 2.0]
    assert profile_table(profile()).rows[1] == ["gelu", "9.000", "0.00", "4", "4.000", "0.00", "8"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda value: value.update(format="x"), "no file of the format"),
        (lambda value: value.update(parts=[]), "at least one"),
        (lambda value: value["parts"][0]["answer"].pop("flips"), "lacks the key 'flips'"),
        (lambda value: value["parts"][0]["answer"].update(seconds="x"), "must be a number"),
    ],
)
def test_a_wrong_file_is_one_sentence(
    capsys: Capture, tmp_path: Path, change: Callable[[Any], object], sentence: str
) -> None:
    value = json.loads(json.dumps(profile().to_json()))
    change(value)
    (tmp_path / "p.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(ProfileError, match=sentence):
        read_profile(tmp_path / "p.json")
    words = ["report", str(tmp_path / "p.json"), "--out", str(tmp_path / "p.png")]
    assert main(words) == FAILED
    assert sentence in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_of_two_processes_leaves_a_profile_that_can_be_drawn(tmp_path: Path) -> None:
    made_artifact(tmp_path / "model")
    picture = tmp_path / "0.png"
    write_picture(picture, seed=0)
    said: list[str] = []
    pair = Pair(tmp_path, tmp_path / "model", said.append)
    pair.classify([picture], ["--profile", str(tmp_path / "p.json")])
    found = read_profile(tmp_path / "p.json")
    kinds = {kind for layer, kind in found.parts if layer == "layer 1"}
    assert kinds == {"norm", "linear", "attention", "softmax", "gelu"}
    demand = Demand.of(read_client(tmp_path / "model")[0])
    answered = total(costs["answer"] for costs in found.parts.values())
    assert answered.to_client_bytes == demand.bytes_to_client
    for name in ("p.png", "p.svg", "p.html"):
        assert main(["report", str(tmp_path / "p.json"), "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_size > 1000
