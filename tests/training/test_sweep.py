import json
from pathlib import Path

import pytest

from degreespar.training.errors import RecipeError
from degreespar.training.recipe import load_recipe
from degreespar.training.session import Session
from degreespar.training.sweep import load_sweep, runs_of

SESSION = Session(Path("model"), "fashion-mnist", None, "vit", Path("out"), {"ranges": 6})


@pytest.mark.parametrize(
    ("name", "count"), [("ablation", 36), ("lambda-grp", 5), ("transition", 5), ("prices", 6), ("seeds", 5)]
)
def test_sweeps_of_the_package_fit_the_recipes(name: str, count: int) -> None:
    runs = list(runs_of(load_sweep(name), SESSION))
    assert len(runs) == count
    assert len({run.session.out for run in runs}) == count
    assert len({run.row for run in runs}) == count
    for run in runs:
        recipe = load_recipe("vit", run.session.changes)
        assert recipe.ranges == 6


def test_points_differ_in_what_they_say() -> None:
    lambdas = [
        load_recipe("vit", run.session.changes).sparsify.lambda_grp
        for run in runs_of(load_sweep("lambda-grp"), SESSION)
    ]
    assert lambdas == [3e-3, 6e-4, 3e-4, 1.5e-4, 3e-5]
    assert {run.session.prices for run in runs_of(load_sweep("prices"), SESSION)} == {"paper", "uniform"}
    first, *_ = runs_of(load_sweep("ablation"), SESSION)
    naive = load_recipe("vit", first.session.changes)
    assert (len(naive.stages), naive.stages[0].awareness.noise) == (1, 0.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "train.final"}, "kind is one of"),
        ({"points": {}}, "a point at least"),
        ({"points": {"x": {"prices": "free"}}}, "prices are one of"),
        ({"seeds": "all"}, "seeds"),
        ({"speed": 1}, "nothing called 'speed'"),
    ],
)
def test_a_bad_file_is_one_sentence(change: dict[str, object], sentence: str, tmp_path: Path) -> None:
    whole = {"kind": "train.sweep", "name": "x", "seeds": [0], "base": {}, "points": {"a": {}}}
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(whole | change))
    with pytest.raises(RecipeError, match=sentence):
        load_sweep(str(path))


def test_an_unknown_sweep_is_one_sentence() -> None:
    with pytest.raises(RecipeError, match="no sweep 'everything'"):
        load_sweep("everything")
