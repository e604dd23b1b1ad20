import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from degreespar.models import Vit
from degreespar.training.compress import Compression
from degreespar.training.errors import RunError
from degreespar.training.finish import finish, read_result
from degreespar.training.progress import Progress
from degreespar.training.run_folder import BEST, STATE, RunFolder
from tests.training.tiny import CPU, made_recipe, made_run, trained_model


class KilledError(Exception):
    """What a test ends a run by."""


def same(one: Compression, other: Compression) -> bool:
    pairs = [(one.model, other.model), (one.variables, other.variables)]
    return all(
        torch.equal(a, b)
        for left, right in pairs
        for a, b in zip(left.state_dict().values(), right.state_dict().values(), strict=True)
    )


@pytest.fixture(scope="module")
def model() -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trained_model().state_dict().items()}


def fresh(state: dict[str, torch.Tensor]) -> Vit:
    from tests.training.tiny import GEOMETRY

    made = Vit(GEOMETRY)
    made.load_state_dict(state)
    return made


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, model: dict[str, torch.Tensor]) -> Compression:
    run = made_run(tmp_path_factory.mktemp("run") / "run", made_recipe(), fresh(model))
    run.run()
    return run


def test_degrees_tokens_and_dimensions_fall_and_accuracy_stays(done: Compression) -> None:
    rows = done.folder.rows()
    assert [row["stage"] for row in rows] == ["baseline", "adapt", *["sparsify"] * 8, "finish"]
    ratios = [row["cost_ratio"] for row in rows[1:-1]]
    assert ratios[-1] < 0.5 * ratios[0]
    valid = [row for row in rows[1:] if row["accuracy"] >= rows[0]["accuracy"] - 0.1]
    best = valid[-1]
    assert best["cost_ratio"] < 0.6 * ratios[0]
    assert max(best["mean_squarings"]) < 2
    assert max(best["mean_orders"]) < 2
    assert sum(best["tokens"]) < 3 * 17
    assert sum(best["dimensions"]) < 24 + 20 + 16


def test_the_result_is_the_last_valid_checkpoint_in_hard_mode(done: Compression) -> None:
    assert done.restore_best()
    done.model.use(done.policy())
    accuracy = done.accuracy(done.task.held_out)
    valid = [row for row in done.folder.rows()[1:] if row["accuracy"] >= done.position.baseline - 0.1]
    assert accuracy == valid[-1]["accuracy"] == done.position.best_accuracy


def test_a_finished_run_has_a_compact_calibrated_result(done: Compression) -> None:
    said: list[str] = []
    result = finish(done, said.append)
    figures = result.figures
    assert result.model.geometry.ffn_widths == tuple(figures["dimensions"])
    assert figures["times_cheaper"] > 1.5
    result.model.use(result.policy)
    right = 0
    for inputs, labels in [done.task.test.take(torch.arange(100))]:
        right += int((result.model(inputs).argmax(dim=-1) == labels).sum())
    assert right / 100 == figures["test_accuracy"]
    again = read_result(done.folder, trained_model())
    assert again.policy == result.policy
    assert again.figures == json.loads(json.dumps(figures))
    assert said


def test_a_resumed_run_ends_where_an_uninterrupted_one_does(
    tmp_path: Path, model: dict[str, torch.Tensor], done: Compression
) -> None:
    """Killed in the middle of every other epoch, once before the first checkpoint."""
    kills = [("adapt", 1), ("sparsify", 2), ("sparsify", 4)]

    def killing(progress: Progress) -> None:
        if kills and (progress.stage, progress.epoch) == kills[0]:
            kills.pop(0)
            raise KilledError

    for _ in range(3):
        run = made_run(tmp_path / "run", made_recipe(), fresh(model), killing)
        with pytest.raises(KilledError):
            run.run()
    run = made_run(tmp_path / "run", made_recipe(), fresh(model), killing)
    run.run()
    whole = made_run(tmp_path / "whole", made_recipe(), fresh(model))
    whole.run()
    assert same(run, whole)
    assert run.folder.rows() == whole.folder.rows() == done.folder.rows()
    one, other = (made.folder.load(BEST, CPU) for made in (run, whole))
    assert one is not None
    assert other is not None
    assert all(torch.equal(one["model"][name], other["model"][name]) for name in one["model"])


def test_another_seed_is_another_run(
    tmp_path: Path, model: dict[str, torch.Tensor], done: Compression
) -> None:
    run = made_run(tmp_path / "run", made_recipe(epochs=1), fresh(model), seed=1)
    run.run()
    assert run.folder.rows()[1]["loss"] != done.folder.rows()[1]["loss"]


def test_the_stop_rule_ends_sparsifying(tmp_path: Path, model: dict[str, torch.Tensor]) -> None:
    recipe = made_recipe(epochs=30, tolerance_points=1.0, patience=2)
    greedy = replace(
        recipe.sparsify,
        target_ratio=None,
        lambda_grp=1e3,
        retention_rate=0.3,
        squarings_rate=0.5,
        orders_rate=0.5,
        dimensions_rate=0.5,
    )
    run = made_run(tmp_path / "run", replace(recipe, sparsify=greedy), fresh(model))
    run.run()
    rows = [row for row in run.folder.rows() if row["stage"] == "sparsify"]
    floor = run.position.baseline - 0.01
    assert len(rows) < 20
    assert rows[-1]["accuracy"] < floor
    assert rows[-2]["accuracy"] < floor
    best = run.folder.load(BEST, CPU)
    assert best is not None


def test_a_run_that_is_never_valid_says_so(tmp_path: Path, model: dict[str, torch.Tensor]) -> None:
    recipe = made_recipe(epochs=1, tolerance_points=0.0, start_squarings=0, start_order=1)
    first, second, third = recipe.stages
    short = replace(recipe, stages=(replace(first, learning_rate=1.0), second, third))
    run = made_run(tmp_path / "run", short, fresh(model))
    with pytest.raises(RunError, match=r"no checkpoint came within 0\.0 points"):
        run.run()
    assert not (tmp_path / "run" / BEST).exists()


def test_noise_and_distillation_train_too(tmp_path: Path, model: dict[str, torch.Tensor]) -> None:
    recipe = made_recipe(epochs=1)
    from degreespar.models.aware import Awareness

    stages = tuple(replace(stage, awareness=Awareness(), distill=0.5) for stage in recipe.stages)
    run = made_run(tmp_path / "run", replace(recipe, stages=stages), fresh(model))
    run.run()
    assert run.position.best_accuracy > 0.8


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("kept")
    with pytest.raises(RunError, match="holds no run"):
        RunFolder(tmp_path).begin({"seed": 0})
    RunFolder(tmp_path / "run").begin({"seed": 0})
    RunFolder(tmp_path / "run").begin({"seed": 0})
    with pytest.raises(RunError, match="another seed"):
        RunFolder(tmp_path / "run").begin({"seed": 1})


def test_a_torn_row_and_a_torn_checkpoint_do_no_harm(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.begin({})
    folder.append({"a": 1})
    folder.save(STATE, {"x": torch.ones(3)})
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"a": ')
    (folder.path / "state.pt.new").write_bytes(b"half")
    folder.cut_rows(1)
    assert folder.rows() == [{"a": 1}]
    state: dict[str, Any] | None = folder.load(STATE, CPU)
    assert state is not None
    assert torch.equal(state["x"], torch.ones(3))
    (folder.path / STATE).write_bytes(b"half")
    with pytest.raises(RunError, match="not a checkpoint"):
        folder.load(STATE, CPU)


def test_batches_that_do_not_fit_are_one_sentence(tmp_path: Path, model: dict[str, torch.Tensor]) -> None:
    recipe = made_recipe()
    stages = tuple(replace(stage, batch=1000) for stage in recipe.stages)
    with pytest.raises(RunError, match="batches of 1000 do not fit 240 examples"):
        made_run(tmp_path / "run", replace(recipe, stages=stages), fresh(model)).run()
