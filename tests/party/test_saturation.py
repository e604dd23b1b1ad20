"""Values that leave their calibrated bounds are counted, layer by layer."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from degreespar.artifact import read_server
from degreespar.degree import DegreePolicy, LayerBounds
from degreespar.engine.saturation import Saturation, merged
from degreespar.party.oracle import Oracle, Simulated
from tests.support.made_artifact import GEOMETRY, made_artifact, selecting_policy

PICTURES = np.random.default_rng(8).integers(-8192, 8193, (6, GEOMETRY.patches, GEOMETRY.patch_values))


def simulated(folder: Path, policy: DegreePolicy) -> Simulated:
    made_artifact(folder, degrees=policy)
    public, tensors, _ = read_server(folder)
    return Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()}).simulate(
        PICTURES
    )


def test_every_calibrated_point_is_observed_and_kept(tmp_path: Path) -> None:
    found = simulated(tmp_path, selecting_policy()).saturations
    names = {field.name for field in fields(LayerBounds)}
    assert {point for window, point in found if window == "layer 1"} == names - {"input"}
    assert {point for window, point in found if window == "layer 2"} == names - {"input", "score_variance"}
    assert {place for place in found if not place[0].startswith("layer")} == {
        ("embedding", "input"), ("head", "final_variance"), ("head", "final_normed"), ("head", "logits")
    }  # fmt: skip
    assert all(count.seen > 0 for count in found.values())
    assert sum(count.beyond for count in found.values()) == 0


@pytest.mark.parametrize("point", ["hidden", "query", "output", "scores"])
def test_a_bound_that_is_too_small_is_found_out_where_it_is(tmp_path: Path, point: str) -> None:
    policy = selecting_policy()
    bounds = replace(policy.layers[0].bounds, **{point: 2.0**-1 if point != "scores" else 2.0**-4})
    narrow = replace(policy, layers=(replace(policy.layers[0], bounds=bounds), policy.layers[1]))
    found = simulated(tmp_path, narrow).saturations
    assert found["layer 1", point].beyond > 0
    assert found["layer 1", "attention_variance"].beyond == 0


@pytest.mark.parametrize("point", ["attention_variance", "score_variance"])
def test_a_variance_below_its_range_is_found_out(tmp_path: Path, point: str) -> None:
    policy = selecting_policy()
    bounds = replace(policy.layers[0].bounds, **{point: (4.0, 64.0)})
    narrow = replace(policy, layers=(replace(policy.layers[0], bounds=bounds), policy.layers[1]))
    assert simulated(tmp_path, narrow).saturations["layer 1", point].beyond > 0


def test_counts_of_batches_add_up() -> None:
    one, two = {("a", "x"): Saturation(5, 1)}, {("a", "x"): Saturation(7, 0), ("b", "y"): Saturation(2, 2)}
    assert merged([one, two]) == {("a", "x"): Saturation(12, 1), ("b", "y"): Saturation(2, 2)}
    assert Saturation.of(np.array([-3, -2, 0, 2, 3]), -2, 2) == Saturation(5, 2)
