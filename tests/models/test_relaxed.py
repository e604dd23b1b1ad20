import numpy as np
import pytest
import torch

from degreespar.models import ModelError
from degreespar.models.nonlinear import exponential, gelu, gelu_by_order, softmax_by_squarings
from degreespar.models.relaxed import Ladder, relaxed_gelu, relaxed_softmax
from degreespar.numerics import EXPONENTIAL, GELU, OFF

SQUARINGS = Ladder((OFF, *sorted(EXPONENTIAL)))
ORDERS = Ladder(tuple(sorted(GELU)))


def doubles(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_gelu_between_relu_and_nothing_is_scaled_away() -> None:
    # By hand: 0.25 of the way from order 0 to order 1 is a quarter of ReLU; from 4 to 6 the step is 2.
    weights = Ladder((0, 1, 4, 6)).weights(torch.tensor([[0.25, 4.5]]), straight=False)
    x = torch.tensor([[[2.0, 0.7]]])
    expected = torch.stack([torch.tensor(0.5), 0.75 * gelu(x[0, 0, 1], 4) + 0.25 * gelu(x[0, 0, 1], 6)])
    torch.testing.assert_close(relaxed_gelu(x, weights)[0, 0], expected)


def test_a_softmax_entry_falls_to_nothing_before_the_row_is_normalised() -> None:
    # Scores 0 and -0.5 at n = 0: powers 1 and 0.5; the second half off: 0.25, so weights 0.8 and 0.2.
    weights = Ladder((OFF, 0)).weights(torch.tensor([[0.0, -0.5]]), straight=False)
    row = relaxed_softmax(torch.tensor([[[[0.0, -0.5]]]]), weights)
    torch.testing.assert_close(row[0, 0, 0], torch.tensor([0.8, 0.2]))


@pytest.mark.parametrize("ladder", [SQUARINGS, ORDERS])
def test_weights_interpolate(ladder: Ladder) -> None:
    degrees = torch.linspace(ladder.states[0], ladder.states[-1], 101, dtype=torch.float64)
    weights = ladder.weights(degrees, straight=False)
    torch.testing.assert_close(sum(weights.values()), torch.ones_like(degrees))
    torch.testing.assert_close(sum(state * weight for state, weight in weights.items()), degrees)
    assert all(int((weight > 0).sum()) > 0 for weight in weights.values())
    assert int((torch.stack(list(weights.values())) > 0).sum(dim=0).max()) == 2


def test_straight_weights_are_the_nearest_state_with_the_relaxed_gradient() -> None:
    degrees = doubles(40, scale=3.0).clamp(-1, 6).requires_grad_()
    hard, soft = (SQUARINGS.weights(degrees, straight) for straight in (True, False))
    values = doubles(len(hard), 40, seed=1)
    for weights in (hard, soft):
        sum(v * w for v, w in zip(values, weights.values(), strict=True)).sum().backward()  # type: ignore[union-attr]
    assert degrees.grad is not None
    gradient = degrees.grad.clone()
    degrees.grad = None
    sum(v * w for v, w in zip(values, soft.values(), strict=True)).sum()
    nearest = SQUARINGS.nearest(degrees)
    for state, weight in hard.items():
        assert torch.equal(weight.detach(), (nearest == state).to(weight.dtype))
    below, _ = SQUARINGS.bracket(degrees)
    columns = torch.arange(40)
    slopes = values[below + 1, columns] - values[below, columns]
    torch.testing.assert_close(gradient, 2 * slopes)


def test_nearest_rounds_half_down_and_stays_on_the_ladder() -> None:
    ladder = Ladder((0, 1, 2, 4))
    degrees = torch.tensor([-3.0, 0.5, 0.51, 1.5, 3.0, 3.1, 9.0])
    assert ladder.nearest(degrees).tolist() == [0, 0, 1, 1, 2, 4, 4]


def test_gradients_are_those_of_finite_differences() -> None:
    degrees = (torch.rand(5, 5, generator=torch.Generator().manual_seed(2)) * 6.8 - 0.9).double()
    # Away from the states, where the slope jumps.
    degrees = (degrees.floor() + 0.2 + 0.6 * (degrees - degrees.floor())).requires_grad_()
    scores, mix = doubles(2, 3, 5, 5, scale=2.0), doubles(2, 3, 5, 5, seed=3)
    presence = torch.tensor([[1.0, 0.3, 0.9, 1.0, 0.5]] * 2, dtype=torch.float64, requires_grad=True)

    def loss(v: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return (relaxed_softmax(scores, SQUARINGS.weights(v.float(), False), p.float()) * mix).sum()

    loss(degrees, presence).backward()  # type: ignore[no-untyped-call]
    for tensor in (degrees, presence):
        assert tensor.grad is not None
        numeric = torch.zeros_like(tensor)
        for index in np.ndindex(*tensor.shape):
            step = torch.zeros_like(tensor)
            step[index] = 1e-2
            pair = [(tensor + sign * step).detach() for sign in (1, -1)]
            ends = [loss(t, presence) if tensor is degrees else loss(degrees, t) for t in pair]
            numeric[index] = ((ends[0] - ends[1]) / 2e-2).detach()
        torch.testing.assert_close(tensor.grad, numeric, atol=2e-3, rtol=2e-2)


def test_gelu_gradients_are_the_difference_of_neighbours() -> None:
    x = doubles(6, 4, 7, scale=1.5).float()
    degrees = torch.full((4, 7), 1.3, requires_grad=True)
    relaxed_gelu(x, ORDERS.weights(degrees, straight=True)).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(degrees.grad, (gelu(x, 2) - gelu(x, 1)).sum(dim=0))


def test_straight_through_is_the_deployed_function() -> None:
    degrees = doubles(6, 6, scale=2.5).float().clamp(-1, 6)
    degrees.fill_diagonal_(2.2)
    grid = SQUARINGS.nearest(degrees).to(torch.int8)
    states = tuple(int(s) for s in grid.unique())
    scores = doubles(3, 2, 6, 6, scale=4.0).float()
    relaxed = relaxed_softmax(scores, SQUARINGS.weights(degrees, straight=True))
    torch.testing.assert_close(relaxed, softmax_by_squarings(scores, grid, states), atol=1e-7, rtol=1e-6)
    orders = doubles(6, 6, seed=4, scale=3.0).float().abs()
    grid = ORDERS.nearest(orders).to(torch.int8)
    x = doubles(3, 6, 6, scale=2.0).float()
    relaxed = relaxed_gelu(x, ORDERS.weights(orders, straight=True))
    torch.testing.assert_close(relaxed, gelu_by_order(x, grid, tuple(int(s) for s in grid.unique())))


def test_a_token_without_presence_is_exactly_absent() -> None:
    scores = doubles(2, 2, 5, 5, scale=3.0).float()
    scores[..., 3] += 50.0
    weights = SQUARINGS.weights(torch.full((5, 5), 1.4), straight=False)
    presence = torch.tensor([[1.0, 1.0, 1.0, 0.0, 1.0]] * 2)
    stays = [0, 1, 2, 4]
    with_it = relaxed_softmax(scores, weights, presence)
    small = {state: weight[:, stays] for state, weight in weights.items()}
    torch.testing.assert_close(with_it[..., stays], relaxed_softmax(scores[..., stays], small))
    assert (with_it[..., 3] == 0).all()


def test_one_state_is_its_function() -> None:
    scores = doubles(1, 1, 3, 4).float()
    powers = exponential(scores - scores.amax(dim=-1, keepdim=True), 3)
    weights = {3: torch.ones(3, 4)}
    torch.testing.assert_close(relaxed_softmax(scores, weights), powers / powers.sum(dim=-1, keepdim=True))


@pytest.mark.parametrize("states", [(1,), (2, 1), (1, 1, 2)])
def test_a_ladder_ascends(states: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="ascending"):
        Ladder(states)
