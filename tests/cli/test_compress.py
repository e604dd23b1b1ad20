"""The road of a user: compress, be cut short, continue, export, look; and what is refused."""

import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from degreespar.cli.main import main
from degreespar.models import Checkpoint, Normalisation, save_checkpoint
from degreespar.training import data
from tests.training.tiny import GEOMETRY, made_model, made_pictures, made_recipe, trained_model

Capture = pytest.CaptureFixture[str]
FILES = ("images-idx3", "labels-idx1")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, its data in Fashion-MNIST's form (and with digests of their own) and a recipe."""
    geometry = replace(GEOMETRY, ffn_widths=(20, 20, 20))
    model = Checkpoint(trained_model(geometry), ("left", "middle", "right"), Normalisation((0.4,), (0.3,)))
    save_checkpoint(tmp_path / "model", model)
    monkeypatch.setattr(data, "FASHION_MNIST_SHA256", dict.fromkeys(data.FASHION_MNIST_SHA256))
    monkeypatch.setattr("degreespar.training.sources.FASHION_MNIST_LABELS", model.labels)
    (tmp_path / "data").mkdir()
    for stem, count, seed in (("train", 320, 0), ("t10k", 60, 1)):
        pictures = made_pictures(count, seed)
        for kind, array in zip(FILES, (pictures.pixels[:, 0], pictures.labels), strict=True):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            packed = gzip.compress(header + np.ascontiguousarray(array).tobytes())
            (tmp_path / "data" / f"{stem}-{kind}-ubyte.gz").write_bytes(packed)
    recipe = made_recipe(epochs=2)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe.to_json()))
    return tmp_path


def words(place: Path, **changes: str) -> list[str]:
    options = {
        "--model": str(place / "model"),
        "--data": "fashion-mnist",
        "--data-folder": str(place / "data"),
        "--recipe": str(place / "recipe.json"),
        "--out": str(place / "run"),
    } | changes
    return ["compress", *(word for pair in options.items() for word in pair)]


def test_compress_export_report(place: Path, capsys: Capture) -> None:
    row = ["--row", "--results", str(place / "results"), "--name", "tiny"]
    assert main([*words(place), "--json", *row]) == 0
    told = capsys.readouterr()
    facts: dict[str, Any] = json.loads(told.out)
    assert facts["times_cheaper"] > 1
    assert "min left" in told.err
    (line,) = (place / "results" / "train.final.jsonl").read_text().splitlines()
    assert json.loads(line)["metrics"]["test_accuracy"] == facts["test_accuracy"]
    assert main(["export", str(place / "run"), "--out", str(place / "deployed"), "--name", "tiny"]) == 0
    assert main(["info", str(place / "deployed"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["name"] == "tiny"
    assert main(["report", str(place / "run"), "--html", str(place / "run.html")]) == 0
    # The fixed-point engine over the test set, beside what was trained and what was deployed, in float.
    simulate = ["simulate", "--model", str(place / "deployed"), "--data", str(place / "data"), "--json"]
    assert main([*simulate, "--checkpoint", str(place / "run")]) == 0
    metrics = json.loads(capsys.readouterr().out.splitlines()[-1])["metrics"]
    assert metrics["hard_accuracy"] == pytest.approx(facts["test_accuracy"])
    assert metrics["float_accuracy"] == pytest.approx(facts["uncompressed_test_accuracy"])
    assert metrics["agreement_hard"] >= 0.9
    # Given again, a finished run only says what it came to.
    assert main([*words(place), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["test_accuracy"] == facts["test_accuracy"]


def test_a_sweep_is_a_row_for_each_point_and_seed(place: Path, capsys: Capture) -> None:
    points = {"slow": {"sparsify.retention_rate": 0.0}, "uniform": {"prices": "uniform"}}
    spec = {"kind": "train.sweep", "name": "made", "seeds": [0, 1], "base": {}, "points": points}
    spec["base"] = {"stages.1.epochs": 1, "tolerance_points": 100.0}
    (place / "sweep.json").write_text(json.dumps(spec))
    command = ["sweep", str(place / "sweep.json"), *words(place)[1:], "--json"]
    assert main([*command, "--row", "--results", str(place / "results")]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = [json.loads(line) for line in (place / "results" / "train.sweep.jsonl").read_text().splitlines()]
    names = ["made, slow, seed 0", "made, slow, seed 1", "made, uniform, seed 0", "made, uniform, seed 1"]
    assert [row["name"] for row in rows] == [run["name"] for run in told["runs"]] == names
    assert [row["seed"] for row in rows] == [0, 1, 0, 1]
    assert rows[0]["metrics"]["tokens"] == [17, 17, 17]
    assert rows[2]["config"]["prices"] == "uniform"


def test_another_configuration_does_not_continue_a_run(place: Path, capsys: Capture) -> None:
    assert main([*words(place), "--set", "stages.1.epochs=1"]) == 0
    assert main(words(place)) == 2
    assert "begun with another recipe" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "extra", "sentence"),
    [
        ({"--model": "nowhere"}, [], "nowhere is no folder"),
        ({"--data": "cifar"}, [], "no data are called 'cifar'"),
        ({"--recipe": "vitt"}, [], "no recipe 'vitt'"),
        ({}, ["--set", "ranges"], "no JSON value"),
        ({}, ["--set", "rangs=3"], "nothing called 'rangs'"),
        ({}, ["--set", "ranges=many"], "no JSON value"),
        ({"--prices": "measured", "--price-table": "nowhere.json"}, [], "nowhere.json"),
        ({"--data-folder": "nowhere"}, [], "cannot read nowhere"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_leaves_nothing(
    place: Path, capsys: Capture, changes: dict[str, str], extra: list[str], sentence: str
) -> None:
    assert main([*words(place, **changes), *extra]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert sentence in told[-1]
    assert told[-1].startswith("degreespar: ")
    assert not (place / "run").exists()


def test_a_checkpoint_of_another_shape_is_one_sentence(place: Path, capsys: Capture) -> None:
    config = json.loads((place / "model" / "config.json").read_text())
    (place / "model" / "config.json").write_text(json.dumps(config | {"hidden_size": 32}))
    assert main(words(place)) == 2
    assert "not floating point of shape" in capsys.readouterr().err


def test_data_of_another_shape_are_one_sentence(place: Path, capsys: Capture) -> None:
    geometry = replace(GEOMETRY, ffn_widths=(20, 20, 20), channels=3)
    normalisation = Normalisation((0.4,) * 3, (0.3,) * 3)
    save_checkpoint(
        place / "model", Checkpoint(made_model(geometry=geometry), ("a", "b", "c"), normalisation)
    )
    assert main(words(place)) == 2
    assert "the model is made for (3, 8, 8)" in capsys.readouterr().err


def test_exporting_a_checkpoint_still_needs_its_options(place: Path, capsys: Capture) -> None:
    assert main(["export", str(place / "model"), "--out", str(place / "deployed")]) == 2
    assert "needs --name" in capsys.readouterr().err
    assert main(["export", str(place / "model"), "--out", str(place / "deployed"), "--name", "x"]) == 2
    assert "to calibrate on" in capsys.readouterr().err
