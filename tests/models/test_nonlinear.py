import numpy as np
import pytest
import torch

from degreespar.models.nonlinear import by_state, exponential, gelu, gelu_by_order, softmax_by_squarings
from degreespar.numerics import EXPONENTIAL, GELU, OFF


@pytest.mark.parametrize("squarings", sorted(EXPONENTIAL))
def test_exponential_is_the_one_of_numerics(squarings: int) -> None:
    state = EXPONENTIAL[squarings]
    edge = state.cutoff
    z = np.concatenate([np.linspace(-20, 0, 4001), [edge, edge - 1e-5, edge + 1e-5, -1e4]])
    z = z.astype(np.float32)
    ours = exponential(torch.from_numpy(z), squarings).numpy()
    np.testing.assert_allclose(ours, state.evaluate(z), atol=3e-6)


def test_an_entry_that_is_off_weighs_nothing() -> None:
    assert torch.equal(exponential(torch.tensor([0.0, -1.0]), OFF), torch.zeros(2))


@pytest.mark.parametrize("order", sorted(GELU))
def test_gelu_is_the_one_of_numerics(order: int) -> None:
    edge = GELU[order].edge if order > 1 else 1.0
    near = [sign * edge + side for sign in (-1, 1) for side in (-1e-5, 1e-5)]
    x = np.concatenate([np.linspace(-6, 6, 4001), near, [-1e4, 1e4]]).astype(np.float32)
    ours = gelu(torch.from_numpy(x), order).numpy()
    np.testing.assert_allclose(ours, GELU[order].evaluate(x), atol=3e-5)


@pytest.mark.parametrize("squarings", sorted(EXPONENTIAL))
def test_gradients_are_finite_far_below_the_cutoff(squarings: int) -> None:
    z = torch.tensor([0.0, -1.0, -1e6, -1e30], requires_grad=True)
    exponential(z, squarings).sum().backward()
    assert z.grad is not None
    assert torch.isfinite(z.grad).all()
    assert torch.equal(z.grad[2:], torch.zeros(2))


def test_a_grid_gives_each_entry_its_own_state() -> None:
    x = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(0)) * 3
    states = (0, 1, 2, 3, 4, 6)
    grid = torch.from_numpy(np.random.default_rng(0).choice(states, (3, 4)).astype(np.int8))
    mixed = gelu_by_order(x, grid, states)
    for row in range(3):
        for column in range(4):
            alone = gelu(x[:, row, column], int(grid[row, column]))
            assert torch.equal(mixed[:, row, column], alone)


def test_softmax_with_mixed_squarings_is_the_plain_one() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(2, 3, 6, 6)) * 4
    grid = rng.choice([OFF, 0, 1, 2, 5], (6, 6)).astype(np.int8)
    grid[np.arange(6), np.arange(6)] = 5
    states = tuple(int(s) for s in np.unique(grid))
    ours = softmax_by_squarings(torch.from_numpy(scores), torch.from_numpy(grid), states).numpy()
    for batch in np.ndindex(2, 3, 6):
        row, states_row = scores[batch], grid[batch[-1]]
        top = row[states_row != OFF].max()
        weights = [
            0.0 if n == OFF else float(EXPONENTIAL[int(n)].evaluate(min(z - top, 0.0)))
            for z, n in zip(row, states_row, strict=True)
        ]
        np.testing.assert_allclose(ours[batch], np.array(weights) / sum(weights), atol=1e-5)


def test_an_off_entry_does_not_set_the_maximum() -> None:
    scores = torch.tensor([[100.0, 0.0, -1.0]])
    grid = torch.tensor([[OFF, 5, 5]], dtype=torch.int8)
    weights = softmax_by_squarings(scores, grid, (OFF, 5))
    assert weights[0, 0] == 0
    assert weights[0].sum() == pytest.approx(1.0)
    assert weights[0, 1] > weights[0, 2] > 0


def test_one_state_needs_no_masks() -> None:
    x = torch.linspace(-3, 3, 12).view(3, 4)
    grid = torch.full((3, 4), 2, dtype=torch.int8)
    assert torch.equal(by_state(gelu, x, grid, (2,)), gelu(x, 2))
