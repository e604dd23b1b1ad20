"""`export` and `simulate --checkpoint`: from a checkpoint folder to an artifact that answers like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from degreespar.artifact import read_client, read_server
from degreespar.cli.main import main
from tests.support.made_artifact import GEOMETRY, LABELS, write_picture

torch = pytest.importorskip("torch")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    from degreespar.models import Checkpoint, Normalisation, Vit, save_checkpoint

    torch.manual_seed(4)
    model = Vit(GEOMETRY_FOR_EXPORT)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    save_checkpoint(tmp_path / "checkpoint", Checkpoint(model, LABELS, Normalisation((0.5,), (0.25,))))
    return tmp_path / "checkpoint"


# Hugging Face's config has one FFN width for all layers.
GEOMETRY_FOR_EXPORT = type(GEOMETRY)(**{**vars(GEOMETRY), "ffn_widths": (6, 6)})


def test_an_exported_artifact_answers_like_its_checkpoint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, checkpoint: Path
) -> None:
    pictures = [str(write_picture(tmp_path / f"{seed}.png", seed=seed)) for seed in range(24)]
    target = str(tmp_path / "model")
    degrees = ["--squarings", "6", "--gelu-order", "6"]
    assert (
        main(["export", str(checkpoint), target, "--name", "x", *degrees, "--json", "--pictures", *pictures])
        == 0
    )
    digest = json.loads(capsys.readouterr().out)["artifact"]
    assert read_server(Path(target))[2] == read_client(Path(target))[2] == digest
    assert main(["simulate", "--model", target, "--checkpoint", str(checkpoint), "--json", *pictures]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert metrics["largest_score_gap"] < 0.1
    assert metrics["largest_score_gap_hard"] < 0.1
    assert metrics["values_beyond_bounds"] == 0
    assert metrics["pictures"] == 24


def test_a_folder_that_is_no_checkpoint_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = str(write_picture(tmp_path / "a.png", seed=1))
    assert main(["export", str(tmp_path), str(tmp_path / "out"), "--name", "x", "--pictures", picture]) == 2
    err = capsys.readouterr().err
    assert err.startswith("degreespar: ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()
