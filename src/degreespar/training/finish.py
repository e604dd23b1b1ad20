"""From the last valid checkpoint to the result of a run: compact, calibrated, tested once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from degreespar.degree import DegreePolicy
from degreespar.degree.stages import facts, savings_in_order
from degreespar.models.bert import Bert
from degreespar.training.calibrate import calibrated
from degreespar.training.classifier import Classifier, with_state
from degreespar.training.compact import compacted
from degreespar.training.compress import UNCOMPRESSED, Compression
from degreespar.training.errors import RunError
from degreespar.training.export import bias_offsets
from degreespar.training.export_text import text_offsets
from degreespar.training.fold import folded
from degreespar.training.fold_bert import folded_bert
from degreespar.training.policies import uniform_policy
from degreespar.training.run_folder import FINAL, RunFolder

WEIGHTS, POLICY, RESULT = "weights.safetensors", "policy.json", "result.json"
COMPACTION_TOLERANCE = 1e-4
"""Largest difference of scores before and after compaction: float32 sums in another order."""


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    model: Classifier
    policy: DegreePolicy
    figures: dict[str, Any]


def finish(run: Compression, say: Callable[[str], None]) -> Result:
    """Compact, calibrate and test; every worker takes its part, the first one writes."""
    if not run.restore_best():
        raise run.nothing_valid()
    full, learned = run.model, run.policy()
    model, policy = compacted(full, learned)
    check = run.task.held_out.take(torch.arange(min(64, len(run.task.held_out))))[0]
    _check_equal(full, learned, model, policy, check)
    say(f"calibrating bounds on {min(run.recipe.calibration, len(run.task.training))} training examples")
    policy = calibrated(model, policy, _calibration(run), _offsets(model))
    say("testing once")
    figures = _figures(run, full, learned, model, policy)
    result = Result(model, policy, figures)
    if run.workers.first:
        write_result(run.folder.path / FINAL, result)
    run.workers.wait()
    return result


def write_result(folder: Path, result: Result) -> None:
    """Weights, policy and figures; the figures last: where they are, all is."""
    folder.mkdir(exist_ok=True)
    state = {name: value.detach().cpu().contiguous() for name, value in result.model.state_dict().items()}
    save_file(state, str(folder / WEIGHTS))
    _write_json(folder / POLICY, result.policy.to_json())
    _write_json(folder / RESULT, result.figures)


def read_result(folder: RunFolder, source: Classifier) -> Result:
    """The result of a finished run, for the model that it began with."""
    path = folder.path / FINAL
    try:
        figures = json.loads((path / RESULT).read_text(encoding="utf-8"))
        policy = DegreePolicy.from_json(json.loads((path / POLICY).read_text(encoding="utf-8")))
        state = load_file(str(path / WEIGHTS))
    except (OSError, ValueError) as error:
        raise RunError(f"{folder.path} holds no finished run: {path} is not whole") from error
    return Result(with_state(source, state), policy, figures)


def _check_equal(
    full: Classifier, learned: DegreePolicy, small: Classifier, policy: DegreePolicy, inputs: Tensor
) -> None:
    """Compaction must not change an answer; if it did, nothing is exported."""
    full.eval()
    full.use(learned)
    small.use(policy)
    with torch.no_grad():
        gap = float((full(inputs) - small(inputs)).abs().max())
    small.use(None)
    if not gap <= COMPACTION_TOLERANCE:
        raise RunError(
            f"compaction changed a score by {gap}: this is a defect of degreespar, please report it"
        )


def _offsets(model: Classifier) -> dict[str, float]:
    """The largest |bias| behind each point, of the weights as they will be folded."""
    geometry = model.geometry
    if isinstance(model, Bert):
        return text_offsets(folded_bert(model), geometry.width, geometry.ffn_widths)
    return bias_offsets(folded(model), geometry.width)


def _calibration(run: Compression) -> list[Tensor]:
    """The first training examples as they are, not varied."""
    count = min(run.recipe.calibration, len(run.task.training))
    batch = run.recipe.check_batch
    starts = range(0, count, batch)
    return [run.task.training.take(torch.arange(at, min(at + batch, count)))[0] for at in starts]


def _figures(
    run: Compression, full: Classifier, learned: DegreePolicy, model: Classifier, policy: DegreePolicy
) -> dict[str, Any]:
    """The accuracies come from hard mode; the test examples are seen here for the first time."""
    full.use(learned)
    held_out, test = run.accuracy(run.task.held_out), run.accuracy(run.task.test)
    baseline = run.accuracy(run.task.test, run.teacher)
    geometry = model.geometry
    saved = savings_in_order(
        learned, uniform_policy(full.geometry, *UNCOMPRESSED), full.geometry.ffn_widths, run.prices, geometry
    )
    return {
        "test_accuracy": test,
        "uncompressed_test_accuracy": baseline,
        "held_out_accuracy": held_out,
        "uncompressed_held_out_accuracy": run.position.baseline,
        "cost_ratio": saved["compressed_s"] / saved["uncompressed_s"],
        "times_cheaper": saved["uncompressed_s"] / saved["compressed_s"],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        **saved,
        **facts(policy),
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
