from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from degreespar.artifact import VitGeometry
from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, ModelBounds
from degreespar.models import ModelError, Vit
from degreespar.models.vit import patch_vectors
from degreespar.training import uniform_policy

GEOMETRY = VitGeometry(8, 4, 2, 16, 2, (24, 32), 3, 1e-6)


@pytest.fixture
def model() -> Vit:
    torch.manual_seed(0)
    model = Vit(GEOMETRY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


@pytest.fixture
def pixels() -> torch.Tensor:
    return torch.randn(3, 2, 8, 8, generator=torch.Generator().manual_seed(1))


def test_patch_values_go_by_row_column_channel() -> None:
    pixels = torch.arange(2 * 2 * 8 * 8).view(2, 2, 8, 8)
    patches = patch_vectors(pixels, 4)
    assert patches.shape == (2, 4, 32)
    for patch, row, column, channel in np.ndindex(4, 4, 4, 2):
        y, x = patch // 2 * 4 + row, patch % 2 * 4 + column
        assert patches[1, patch, (row * 4 + column) * 2 + channel] == pixels[1, channel, y, x]


def test_high_degrees_are_near_the_exact_functions_and_low_ones_are_not(
    model: Vit, pixels: torch.Tensor
) -> None:
    exact = model(pixels)
    model.use(uniform_policy(GEOMETRY, 6, 6))
    near = (model(pixels) - exact).abs().max()
    model.use(uniform_policy(GEOMETRY, 0, 1))
    far = (model(pixels) - exact).abs().max()
    assert near < 0.02
    assert far > 5 * near
    model.use(None)
    assert torch.equal(model(pixels), exact)


def test_removed_units_are_the_smaller_model(model: Vit, pixels: torch.Tensor) -> None:
    policy = uniform_policy(GEOMETRY, 5, 4)
    orders = np.full((GEOMETRY.tokens, 24), 4, dtype=np.int8)
    orders[:, 10:] = 0
    first = replace(policy.layers[0], gelu_orders=IntGrid(orders))
    model.use(DegreePolicy((first, policy.layers[1]), policy.bounds))
    removed = model(pixels)
    small = Vit(replace(GEOMETRY, ffn_widths=(10, 32))).eval()
    state = model.state_dict()
    state = {name: value for name, value in state.items() if "grid" not in name}
    for name in ("expand.weight", "expand.bias"):
        state[f"layers.0.{name}"] = state[f"layers.0.{name}"][:10]
    state["layers.0.contract.weight"] = state["layers.0.contract.weight"][:, :10]
    small.load_state_dict(state)
    small.use(uniform_policy(small.geometry, 5, 4))
    torch.testing.assert_close(small(pixels), removed)


def test_a_policy_leaves_no_trace_in_the_parameters(model: Vit) -> None:
    before = set(model.state_dict())
    model.use(uniform_policy(GEOMETRY, 5, 4))
    assert set(model.state_dict()) == before


def test_every_bound_has_its_point(model: Vit, pixels: torch.Tensor) -> None:
    seen: dict[str, torch.Tensor] = {}
    model(pixels, seen.__setitem__)
    layer_points = {f"layers.{i}.{field.name}" for i in range(2) for field in fields(LayerBounds)}
    assert set(seen) == layer_points | {field.name for field in fields(ModelBounds)}
    scores = seen["layers.0.query"] @ seen["layers.0.key"].transpose(-1, -2)
    torch.testing.assert_close(seen["layers.0.scores"], scores)
    torch.testing.assert_close(seen["layers.1.input"], seen["layers.0.output"])
    mean = seen["layers.1.ffn_normed"].mean(dim=-1)
    torch.testing.assert_close(mean, torch.zeros_like(mean), atol=1e-5, rtol=0)


def test_a_policy_of_another_shape_is_refused(model: Vit) -> None:
    with pytest.raises(ModelError, match="1 layers and the model has 2"):
        model.use(uniform_policy(replace(GEOMETRY, ffn_widths=(24,)), 5, 4))
    with pytest.raises(ModelError, match="layer 1 of the policy"):
        model.use(uniform_policy(replace(GEOMETRY, ffn_widths=(24, 31)), 5, 4))


def test_a_refused_policy_changes_nothing(model: Vit, pixels: torch.Tensor) -> None:
    exact = model(pixels)
    with pytest.raises(ModelError):
        model.use(uniform_policy(replace(GEOMETRY, ffn_widths=(24, 31)), 0, 1))
    assert torch.equal(model(pixels), exact)
