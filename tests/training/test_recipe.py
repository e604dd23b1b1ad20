import json
from pathlib import Path

import pytest

from degreespar.training.errors import RecipeError
from degreespar.training.recipe import Recipe, Stage, load_recipe


@pytest.mark.parametrize("name", ["vit", "bert", "vit-demo", "vit-gpu", "bert-gpu", "vit-cpu", "bert-cpu"])
def test_recipes_of_the_package_are_whole(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name, {})
    path = tmp_path / "again.json"
    path.write_text(json.dumps(recipe.to_json()))
    assert load_recipe(str(path), {}) == recipe


def test_the_paper_s_figures_are_the_default() -> None:
    recipe = load_recipe("vit", {})
    adapt, sparsify = recipe.stages
    assert (adapt.epochs, sparsify.epochs, adapt.batch, adapt.learning_rate) == (30, 30, 48, 1e-5)
    assert (adapt.weight_decay, recipe.tolerance_points, recipe.transition_layer) == (0.01, 1.0, 4.0)
    assert (recipe.sparsify.lambda_grp, recipe.sparsify.lambda_bin) == (3e-4, 1e-2)
    assert load_recipe("bert", {}).tolerance_points == 1.5


def test_changes_reach_every_place() -> None:
    changes = {
        "stages.1.epochs": 3,
        "sparsify.lambda_grp": 1e-4,
        "stages.0.awareness.noise": 0,
        "orders": [0, 1, 2, 4],
        "sparsify.target_ratio": 0.25,
    }
    recipe = load_recipe("vit", changes)
    assert (recipe.stages[1].epochs, recipe.stages[0].epochs) == (3, 30)
    assert recipe.sparsify.lambda_grp == 1e-4
    assert recipe.stages[0].awareness.noise == 0.0
    assert recipe.orders == (0, 1, 2, 4)
    assert recipe.sparsify.target_ratio == 0.25


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sparsify.lambda": 1}, "nothing called 'sparsify.lambda'"),
        ({"stages.7.epochs": 1}, r"nothing called 'stages\.7\.epochs'"),
        ({"ranges": "eight"}, "ranges cannot be 'eight'"),
        ({"ranges": 2.5}, "ranges cannot be 2.5"),
        ({"stages.0.kind": "anneal"}, "one of adapt, sparsify, finish"),
        ({"start_squarings": 5}, "must stand on the ladders"),
        ({"stages.0.distill": 2}, r"share in 0\.\.1"),
    ],
)
def test_a_bad_change_is_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(RecipeError, match=sentence):
        load_recipe("vit", changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "must be an object"),
        ("{}", "lacks 'stages'"),
        ('{"stages": [], "speed": 1}', "nothing called 'speed'"),
        ('{"stages": [{"kind": "adapt"}]}', "lacks 'epochs'"),
    ],
)
def test_a_bad_file_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(text)
    with pytest.raises(RecipeError, match=sentence):
        load_recipe(str(path), {})


def test_an_unknown_name_is_one_sentence() -> None:
    with pytest.raises(RecipeError, match="no recipe 'vitt'"):
        load_recipe("vitt", {})


def test_rates_warm_up_and_fall() -> None:
    stage = Stage("adapt", 10, 2.0, warmup=0.1, final_rate=0.25)
    assert [stage.rate(done) for done in (0.0, 0.05, 0.1, 0.55, 1.0)] == pytest.approx(
        [0.0, 1.0, 2.0, 1.25, 0.5]
    )


def test_checks_end_with_the_epoch() -> None:
    assert Stage("adapt", 1, 1.0, checks_per_epoch=3).checks(10) == {3, 7, 10}
    assert Stage("adapt", 1, 1.0, checks_per_epoch=4).checks(2) == {1, 2}
    assert Recipe(()).stages == ()
