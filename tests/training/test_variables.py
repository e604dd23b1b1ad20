import pytest
import torch

from degreespar.models.relaxed import Ladder
from degreespar.training.classifier import behave
from degreespar.training.compact import compacted
from degreespar.training.errors import RecipeError
from degreespar.training.learned import Aware, learned_behaviours
from degreespar.training.snap import merged, snapped
from degreespar.training.variables import Space, even_sizes
from tests.training.tiny import GEOMETRY, QUIET, made_model, made_variables


def pixels(count: int = 6) -> torch.Tensor:
    return torch.randn(count, 1, 8, 8, generator=torch.Generator().manual_seed(4))


def test_sizes_are_as_even_as_they_can_be() -> None:
    assert even_sizes(49, 8) == (7, 6, 6, 6, 6, 6, 6, 6)
    assert even_sizes(5, 5) == (1, 1, 1, 1, 1)
    with pytest.raises(RecipeError, match="5 tokens cannot be split into 6"):
        even_sizes(5, 6)


def test_positions_belong_to_ranges_and_cls_to_its_own() -> None:
    space = Space((2, 1, 3), Ladder((0, 1)), Ladder((0, 1)))
    assert space.members(3).tolist() == [0, 1, 1, 2, 3, 3, 3]
    assert space.members(2).tolist() == [0, 1, 1, 2]


def test_alpha_turns_from_variance_to_attention() -> None:
    space = Space((1,), Ladder((0, 1)), Ladder((0, 1)), transition_layer=4.0)
    assert space.alpha(3) == 0.5
    assert space.alpha(0) == pytest.approx(1 / (1 + 2.718281828**-3))
    assert space.alpha(11) < 0.001


def test_kept_ranges_never_grow() -> None:
    variables = made_variables()
    with torch.no_grad():
        variables.retention[0].copy_(torch.tensor([1.0, 0.9, 0.5, 0.4]))
    assert variables.kept_ranges() == [2, 2, 2]
    with torch.no_grad():
        variables.retention[1].zero_()
    assert variables.kept_ranges() == [2, 1, 1]


def test_projection() -> None:
    variables = made_variables()
    with torch.no_grad():
        variables.squarings[0].fill_(-4.0)
        variables.orders[1].fill_(7.0)
        variables.retention[0].copy_(torch.tensor([0.2, 1.7, -0.3, 0.6]))
    variables.project()
    assert variables.squarings[0].tolist() == (torch.eye(5) - 1).tolist()
    assert (variables.orders[1] == 2).all()
    torch.testing.assert_close(variables.retention[0].data, torch.tensor([1.0, 0.6, 0.2, 0.0]))


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_straight_through_training_computes_what_is_deployed(seed: int | None) -> None:
    model, variables = made_model(), made_variables(seed)
    behave(model, learned_behaviours(variables, QUIET))
    trained = model(pixels())
    policy = snapped(variables)
    model.use(policy)
    torch.testing.assert_close(trained, model(pixels()), atol=1e-5, rtol=1e-5)
    small = merged(policy)
    model.use(small)
    torch.testing.assert_close(trained, model(pixels()), atol=1e-5, rtol=1e-5)
    assert sum(map(ranges_of, small.layers)) <= sum(map(ranges_of, policy.layers))


def ranges_of(layer: object) -> int:
    selection = layer.selection  # type: ignore[attr-defined]
    return 0 if selection is None else len(selection.ranges)


def test_equal_ranges_are_merged_and_idle_selections_vanish() -> None:
    variables = made_variables()
    assert all(layer.selection is None for layer in merged(snapped(variables)).layers)
    with torch.no_grad():
        variables.orders[0][3:] = 1.0
        variables.squarings[2][:, 1] = 0.0
        variables.retention[1][-1] = 0.0
    layers = merged(snapped(variables)).layers
    # Layer 0: its GeLU rows part ranges 1-2 from 3-4. Layer 1: [CLS] sees range 1 of layer 2 apart.
    assert layers[0].selection is not None
    assert layers[0].selection.ranges == (8, 8)
    assert layers[1].selection is not None
    assert layers[1].selection.ranges == (4, 8)
    assert layers[2].tokens == 13


def test_gradients_reach_every_variable_that_is_there() -> None:
    model, variables = made_model(), made_variables(1)
    behave(model, learned_behaviours(variables, QUIET))
    model(pixels()).square().sum().backward()
    kept = variables.kept_ranges()
    assert kept == [3, 3, 3]
    for layer in (1, 2):
        gradient = variables.squarings[layer].grad
        assert gradient is not None
        assert (gradient[4:] == 0).all()
        assert (gradient[:, 4:] == 0).all()
        assert gradient[0, :4].abs().min() > 0
    for layer in range(2):
        gradient = variables.retention[layer].grad
        assert gradient is not None
        assert gradient[:3].abs().min() > 0
        assert float(gradient[3]) == 0
    first = variables.orders[0].grad
    assert first is not None
    assert float((first != 0).float()[:4].mean()) > 0.9


def test_retention_s_gradient_is_the_token_s_contribution() -> None:
    """By hand: the last layer's keys and the FFN update scaled by m, differentiated numerically."""
    model, variables = made_model().double(), made_variables(2).double()
    given = pixels(3).double()
    behaviours = learned_behaviours(variables, QUIET)
    behave(model, behaviours)
    model(given).square().sum().backward()
    gradient = variables.retention[1].grad
    assert gradient is not None

    def loss(change: float) -> float:
        scaled = variables.retention[1].detach().clone()
        scaled[0] = 1.0 + change
        # The value 1 of a presence stands for m: a detached 1 + change is m itself.
        behave(model, [behaviours[0], Scaled(behaviours[1], scaled), behaviours[2]])
        with torch.no_grad():
            return float(model(given).square().sum())

    numeric = (loss(1e-3) - loss(-1e-3)) / 2e-3
    assert float(gradient[0]) == pytest.approx(numeric, rel=2e-2, abs=1e-4)


class Scaled:
    """A layer's behaviour with the presence of its first range set by hand."""

    selects = True

    def __init__(self, inner: object, retention: torch.Tensor) -> None:
        self.inner, self.retention = inner, retention
        self.weigh = inner.weigh  # type: ignore[attr-defined]
        self.activate = inner.activate  # type: ignore[attr-defined]

    def select(
        self, x: torch.Tensor, variance: torch.Tensor, attention: torch.Tensor, presence: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        routed, carried = self.inner.select(x, variance, attention, presence)  # type: ignore[attr-defined]
        carried = carried.clone()
        carried[:, 1:5] = self.retention[0]
        return routed, carried


def test_adapting_is_the_uniform_policy_without_noise() -> None:
    model, variables = made_model(), made_variables()
    behave(model, [Aware(2, 2, QUIET)] * 3)
    adapted = model(pixels())
    model.use(snapped(variables))
    torch.testing.assert_close(adapted, model(pixels()), atol=1e-5, rtol=1e-5)


def test_compaction_changes_no_answer() -> None:
    model, variables = made_model(), made_variables(3)
    with torch.no_grad():
        variables.orders[0][:, ::3] = 0.0
        variables.orders[1][:] = 0.0
    policy = merged(snapped(variables))
    model.use(policy)
    small, fitting = compacted(model, policy)
    small.use(fitting)
    # Of the last layer [CLS] alone decides what is used.
    used = int((variables.space.orders.nearest(variables.orders[2][0]) > 0).sum())
    assert small.geometry.ffn_widths == (16, 1, used)
    assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in model.parameters())
    torch.testing.assert_close(small(pixels(20)), model(pixels(20)), atol=2e-6, rtol=1e-6)
    assert GEOMETRY.ffn_widths == model.geometry.ffn_widths
