import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from degreespar.training.regularise import (
    binary_surrogate,
    dimension_groups,
    group_norm,
    group_shrinkage,
    soft_threshold,
    staged_norm,
    staged_slope,
    token_groups,
)


def doubles(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.1


def test_staged_norm_by_hand() -> None:
    # Knee 2: 1 counts 1; 2 counts 2; 4 counts (16 + 4) / 4 = 5. Weights 1, 3, 2.
    heights, weights = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 3.0, 2.0])
    assert float(staged_norm(heights, 2.0, weights)) == pytest.approx(1 + 6 + 10)
    torch.testing.assert_close(staged_slope(heights, 2.0), torch.tensor([1.0, 1.0, 2.0]))


def test_staged_slope_is_the_norm_s_derivative() -> None:
    heights = (3 * doubles(50)).requires_grad_()
    staged_norm(heights, 1.5, torch.ones_like(heights)).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(heights.grad, staged_slope(heights.detach(), 1.5))


def test_group_norms_by_hand() -> None:
    groups = [torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([[2.0, 0.0, 0.0]])]
    assert float(group_norm(groups)) == pytest.approx(5 + 0 + 2)
    assert float(group_norm(groups, torch.tensor([1.0, 9.0, 2.0]))) == pytest.approx(5 + 4)


def test_a_token_group_is_its_row_column_gelu_row_and_retention() -> None:
    squarings = torch.arange(9.0).view(3, 3)
    orders = torch.tensor([[10.0, 11.0], [12.0, 13.0], [14.0, 15.0]])
    groups = token_groups(squarings, orders, torch.tensor([0.5, 0.25]))
    assert groups.tolist() == [
        [3, 4, 5, 1, 4, 7, 12, 13, 0.5],
        [6, 7, 8, 2, 5, 8, 14, 15, 0.25],
    ]


def test_a_dimension_group_is_its_gelu_column() -> None:
    assert dimension_groups(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[1, 3], [2, 4]]


def test_binary_surrogate_by_hand() -> None:
    retention = torch.tensor([0.0, 1.0, 0.5, 0.8], requires_grad=True)
    value = binary_surrogate(retention)
    assert float(value.detach()) == pytest.approx(0.25**2 + 0.16**2)
    value.backward()  # type: ignore[no-untyped-call]
    # 2 m (1 - m) (1 - 2 m), the paper's derivative.
    torch.testing.assert_close(retention.grad, torch.tensor([0.0, 0.0, 0.0, 2 * 0.16 * -0.6]))


@pytest.mark.parametrize(
    "regulariser",
    [
        lambda x: staged_norm(x, 0.5, doubles(4, 5, seed=9)),
        lambda x: group_norm([x, dimension_groups(x)], doubles(9, seed=8)),
        lambda x: group_norm([token_groups(x[:, :4], x[:, 3:], x[1:, 0])]),
        binary_surrogate,
    ],
)
def test_gradients_are_those_of_finite_differences(regulariser: Callable[[Tensor], Tensor]) -> None:
    assert torch.autograd.gradcheck(regulariser, doubles(4, 5).requires_grad_())


def test_soft_threshold_by_hand() -> None:
    heights = torch.tensor([2.0, 0.3, -0.7, 0.0])
    torch.testing.assert_close(soft_threshold(heights, 0.5), torch.tensor([1.5, 0.0, -0.2, 0.0]))
    amounts = torch.tensor([3.0, 0.1, 0.0, 1.0])
    torch.testing.assert_close(soft_threshold(heights, amounts), torch.tensor([0.0, 0.2, -0.7, 0.0]))


def test_soft_threshold_is_the_proximal_step() -> None:
    # It minimises 1/2 (x - h)^2 + amount |x|: nothing on a fine grid is better.
    grid = torch.linspace(-3, 3, 60001, dtype=torch.float64)
    for height in (-2.0, -0.2, 0.0, 0.4, 1.7):
        best = grid[(0.5 * (grid - height) ** 2 + 0.6 * grid.abs()).argmin()]
        found = soft_threshold(torch.tensor(height, dtype=torch.float64), 0.6)
        assert float(found) == pytest.approx(float(best), abs=2e-4)


def test_a_group_shrinks_along_itself_and_to_exact_zero() -> None:
    groups = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    factors = group_shrinkage(groups, 1.0)
    torch.testing.assert_close(factors, torch.tensor([0.8, 0.0, 0.0]))
    assert math.isclose(float((groups[0] * factors[0]).norm()), 4.0, rel_tol=1e-6)


def test_regularisers_do_not_see_the_order_of_groups_or_entries() -> None:
    x, order = doubles(6, 7), torch.tensor([3, 0, 5, 1, 4, 2])
    assert float(group_norm([x[order]])) == pytest.approx(float(group_norm([x])))
    ones = torch.ones_like(x)
    assert float(staged_norm(x[order], 0.5, ones)) == pytest.approx(float(staged_norm(x, 0.5, ones)))
    squarings, orders, retention = doubles(4, 4), doubles(4, 3), doubles(3)
    ranges = torch.tensor([0, 3, 1, 2])
    moved = token_groups(squarings[ranges][:, ranges], orders[ranges], retention[ranges[1:] - 1])
    torch.testing.assert_close(
        moved.norm(dim=1), token_groups(squarings, orders, retention).norm(dim=1)[ranges[1:] - 1]
    )
