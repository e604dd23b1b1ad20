import math

import pytest
import torch

from degreespar.models.aware import EXACT_TRAINING, Awareness, aware_gelu, perturbed, soft_gelu
from degreespar.models.nonlinear import gelu
from degreespar.numerics import EXPONENTIAL, GELU

AWARE = Awareness()
WITH_EDGES = [order for order, state in GELU.items() if order > 1 and math.isfinite(state.edge)]


@pytest.mark.parametrize("squarings", sorted(EXPONENTIAL))
def test_logits_move_inside_the_noise_region_alone(squarings: int) -> None:
    torch.manual_seed(0)
    state = EXPONENTIAL[squarings]
    z = torch.linspace(-16, 0, 20001)
    moved = perturbed(z, squarings, AWARE.draws(z), AWARE) - z
    inside = (z >= state.noise_low) & (z <= state.noise_high)
    assert torch.equal(moved[~inside], torch.zeros(int((~inside).sum())))
    assert moved[inside].abs().max() <= state.noise_scale + 1e-6
    assert moved[inside].abs().max() > 0.9 * state.noise_scale
    assert abs(float(moved[inside].mean())) < 0.1 * state.noise_scale
    assert (z + moved).max() <= 0


def test_the_representative_degree_is_the_paper_s() -> None:
    # Region [-3.6, -0.55] and 0.05 for n = 2; 1.2..2.0 and 0.09 for GeLU 2.
    softmax, centre = EXPONENTIAL[2], GELU[2]
    assert (softmax.noise_low, softmax.noise_high, softmax.noise_scale) == pytest.approx(
        (-3.6, -0.55, 0.05), abs=0.11
    )
    assert (centre.noise_low, centre.noise_high, centre.noise_scale) == pytest.approx(
        (1.2, 2.0, 0.09), abs=0.13
    )


@pytest.mark.parametrize("order", sorted(GELU))
def test_gelu_gets_noise_inside_its_region_alone(order: int) -> None:
    torch.manual_seed(0)
    state, x = GELU[order], torch.linspace(-5, 5, 20001)
    hard_edges = Awareness(soft_edges=False)
    moved = aware_gelu(x, order, hard_edges.draws(x), hard_edges) - gelu(x, order)
    inside = (x.abs() >= state.noise_low) & (x.abs() <= state.noise_high)
    assert torch.equal(moved[~inside], torch.zeros(int((~inside).sum())))
    assert moved.abs().max() <= state.noise_scale + 1e-6
    assert order == 0 or moved.abs().max() > 0.9 * state.noise_scale


def test_a_soft_edge_by_hand() -> None:
    # At x = B the right weight is 1/2 and the left nothing: half of x and half of the polynomial.
    state = GELU[2]
    edge = state.edge
    inner = sum(c * edge**power for power, c in enumerate(state.coefficients)) + 0.5 * edge
    value = soft_gelu(torch.tensor([edge], dtype=torch.float64), 2)
    assert float(value) == pytest.approx(0.5 * edge + 0.5 * inner, abs=1e-6)


@pytest.mark.parametrize("order", WITH_EDGES)
def test_soft_edges_are_the_hard_ones_away_from_them(order: int) -> None:
    x = torch.cat([torch.linspace(-8, 8, 4001), torch.tensor([-1e4, 1e4])]).double()
    away = (x.abs() - GELU[order].edge).abs() > 1.5
    torch.testing.assert_close(soft_gelu(x, order)[away], gelu(x, order)[away], atol=1e-4, rtol=1e-6)


@pytest.mark.parametrize("order", WITH_EDGES)
def test_soft_edges_have_the_gradient_of_finite_differences(order: int) -> None:
    x = torch.linspace(-6, 6, 97).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: soft_gelu(v, order), x)


def test_without_awareness_training_is_deployment() -> None:
    x = torch.linspace(-5, 5, 1001)
    assert EXACT_TRAINING.draws(x) is None
    assert torch.equal(perturbed(-x.abs(), 2, None, EXACT_TRAINING), -x.abs())
    assert all(torch.equal(aware_gelu(x, order, None, EXACT_TRAINING), gelu(x, order)) for order in GELU)
