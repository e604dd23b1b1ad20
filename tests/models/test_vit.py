from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from degreespar.artifact import VitGeometry
from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, ModelBounds, Selection
from degreespar.models import ModelError, Vit
from degreespar.models.nonlinear import exponential
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


def selecting_policy(first_squarings: np.ndarray | None = None) -> DegreePolicy:
    """Of 4 patches 3 stay, in ranges of 1 and 2, with degrees that differ from range to range."""
    first, second = uniform_policy(GEOMETRY, 3, 4).layers
    orders = np.array([[4] * 24, [3] * 24, [2] * 24, [2] * 24])
    orders[:, 5] = 1
    squarings = np.array([[5, 4, 2, 2], [3, 3, 1, 1], [3, 2, 0, 0], [3, 2, 0, 0]])
    selecting = replace(
        first,
        squarings=first.squarings if first_squarings is None else IntGrid(first_squarings),
        gelu_orders=IntGrid(orders),
        selection=Selection((1, 2), 0.6),
    )
    following = replace(second, squarings=IntGrid(squarings), gelu_orders=IntGrid.uniform(4, 32, 2))
    return DegreePolicy((selecting, following), uniform_policy(GEOMETRY, 3, 4).bounds)


def test_a_selection_by_hand(model: Vit, pixels: torch.Tensor) -> None:
    seen: dict[str, torch.Tensor] = {}
    model.use(selecting_policy())
    model(pixels, seen.__setitem__)
    entered, middle = seen["layers.0.input"], seen["layers.0.middle"]
    scores = seen["layers.0.scores"]
    for picture in range(3):
        paid = torch.stack([weigh_row(row) for row in scores[picture, :, 0]]).mean(dim=0)[1:]
        spread = entered[picture, 1:].var(dim=-1, unbiased=False) + 1e-6
        score = 0.6 * spread / spread.mean() + 0.4 * paid / paid.mean()
        best, *others = score.argsort(descending=True).tolist()
        chosen = [0, best + 1, *sorted(other + 1 for other in others[:2])]
        hidden = model.layers[0].expand(
            torch.nn.functional.layer_norm(
                middle[picture, chosen],
                (16,),
                model.layers[0].ffn_norm.weight,
                model.layers[0].ffn_norm.bias,
                1e-6,
            )
        )
        torch.testing.assert_close(seen["layers.0.hidden"][picture], hidden)
    assert seen["layers.1.input"].shape == (3, 4, 16)
    assert seen["layers.1.middle"].shape == (3, 1, 16)


def weigh_row(scores: torch.Tensor) -> torch.Tensor:
    powers = exponential(scores - scores.max(), 3)
    return powers / powers.sum()


def test_ranks_not_positions_decide(model: Vit, pixels: torch.Tensor) -> None:
    # Patches and their position rows in another order are the same set of tokens.
    model.use(selecting_policy())
    order = torch.tensor([2, 0, 3, 1])
    quarters = patch_vectors(pixels, 4)
    before = tokens_to_logits(model, quarters, model.positions.detach())
    shuffled = torch.cat([model.positions[:1], model.positions[1:][order]]).detach()
    torch.testing.assert_close(tokens_to_logits(model, quarters[:, order], shuffled), before)
    torch.testing.assert_close(before, model(pixels))
    # With a first softmax that differs by position the same shuffle changes the answer.
    by_position = np.full((5, 5), 3)
    by_position[:, 1] = 0
    model.use(selecting_policy(by_position))
    changed = tokens_to_logits(model, quarters[:, order], shuffled)
    assert not torch.allclose(changed, tokens_to_logits(model, quarters, model.positions.detach()), atol=1e-4)


def tokens_to_logits(model: Vit, patches: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    x = torch.cat([model.class_token.expand(len(patches), 1, -1), model.patch(patches)], dim=1) + positions
    for index, layer in enumerate(model.blocks()):
        x, _ = layer(x, None, index == 1)
    return model.head(model.final_norm(x[:, 0], "final", lambda name, value: None))


def test_a_policy_whose_tokens_do_not_fit_is_refused(model: Vit) -> None:
    policy = selecting_policy()
    other = Vit(replace(GEOMETRY, image_px=12))
    with pytest.raises(ModelError, match="layer 0 of the policy is for 5 tokens"):
        other.use(policy)
