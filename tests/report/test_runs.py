"""The report of a run: from a folder as `degreespar compress` leaves it, without torch."""

import json
from pathlib import Path
from typing import Any

import pytest

from degreespar.cli.main import main
from degreespar.degree.paper_prices import paper_prices
from degreespar.degree.stages import facts, savings_in_order
from degreespar.training.policies import uniform_policy
from degreespar.training.snap import merged, snapped
from tests.training.tiny import GEOMETRY, made_recipe, made_variables

Capture = pytest.CaptureFixture[str]


def row(stage: str, accuracy: float, cost_ratio: float, **more: Any) -> dict[str, Any]:
    return {"stage": stage, "accuracy": accuracy, "cost_ratio": cost_ratio, **more}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "made-run"
    (folder / "final").mkdir(parents=True)
    policy = merged(snapped(made_variables(3)))
    whole = uniform_policy(GEOMETRY, 6, 4)
    saved = savings_in_order(policy, whole, GEOMETRY.ffn_widths, paper_prices(), GEOMETRY)
    figures = {
        "test_accuracy": 0.915,
        "uncompressed_test_accuracy": 0.9271,
        "held_out_accuracy": 0.912,
        "uncompressed_held_out_accuracy": 0.921,
        "times_cheaper": saved["uncompressed_s"] / saved["compressed_s"],
        **saved,
        **facts(policy),
    }
    rows = [
        row("baseline", 0.921, 1.0),
        row("adapt", 0.92, 0.7, **facts(whole)),
        row("sparsify", 0.91, 0.5, **facts(policy)),
    ]
    config = {"recipe": made_recipe().to_json(), "seed": 3}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in rows))
    (folder / "final" / "policy.json").write_text(json.dumps(policy.to_json()))
    (folder / "final" / "result.json").write_text(json.dumps(figures))
    return folder


def test_a_page_holds_every_figure_and_needs_no_other_file(
    run: Path, tmp_path: Path, capsys: Capture
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(run), "--html", str(page), "--png", str(tmp_path / "png"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    text = page.read_text()
    assert text.count("data:image/png;base64,") == 6
    assert 'src="http' not in text
    for words in ("91.50%", "92.71%", "times lower", "What saves what", "GeLU orders", "tolerance_points"):
        assert words in text
    pictures = sorted((tmp_path / "png").iterdir())
    assert len(pictures) == 6
    assert told["finished"]
    assert sorted(told["written"]) == sorted([str(page), *map(str, pictures)])
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_an_unfinished_run_shows_what_it_knows(run: Path, tmp_path: Path) -> None:
    (run / "final" / "result.json").unlink()
    page = tmp_path / "page.html"
    assert main(["report", str(run), "--html", str(page)]) == 0
    text = page.read_text()
    assert "not finished" in text
    assert "GeLU orders" not in text


def test_what_cannot_be_reported_is_one_sentence(run: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["report", str(tmp_path / "empty"), "--html", str(tmp_path / "x.html")]) == 2
    assert "is not the folder of a run" in capsys.readouterr().err
    assert main(["report", str(run)]) == 2
    assert "--html FILE, --png DIR" in capsys.readouterr().err
