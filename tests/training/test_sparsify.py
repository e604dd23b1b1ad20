import math
from dataclasses import replace

import pytest
import torch

from degreespar.degree.paper_prices import paper_prices, uniform_prices
from degreespar.degree.stages import facts, savings_in_order, used_dimensions, without_unused
from degreespar.training.classifier import contractions
from degreespar.training.policies import uniform_policy
from degreespar.training.snap import merged, snapped
from degreespar.training.sparsify import Pressure, Sparsifier, SparsifySettings, falling_target
from degreespar.training.step_prices import StepPrices, step_prices, token_prices_s
from degreespar.training.stop import StopRule
from degreespar.training.variables import PolicyVariables
from tests.training.tiny import GEOMETRY, made_model, made_variables

SETTINGS = SparsifySettings(
    squarings_rate=0.1,
    orders_rate=0.1,
    dimensions_rate=0.1,
    retention_rate=0.1,
    smoothing=0.0,
    patience_steps=1,
)


def prices_of(variables: PolicyVariables) -> StepPrices:
    return step_prices(variables, snapped(variables), paper_prices(), GEOMETRY, 1.0)


def give(variables: PolicyVariables, gradient: float) -> None:
    for parameter in variables.parameters():
        parameter.grad = torch.full_like(parameter, gradient)


def step(variables: PolicyVariables, pressure: Pressure, settings: SparsifySettings = SETTINGS) -> None:
    contracts = contractions(made_model())
    # A batch of none: no curvature, gradients alone are the worth.
    Sparsifier(variables, settings).step(prices_of(variables), pressure, contracts, batch=0)


def test_what_is_worth_nothing_falls_at_its_rate() -> None:
    variables = made_variables()
    give(variables, 0.0)
    step(variables, Pressure(1.0))
    # Heights: softmax 3 above off and GeLU 2 above removed, twice and three times the knee of 1.
    torch.testing.assert_close(variables.squarings[0][1, 2], torch.tensor(2 - 0.1 * 3))
    torch.testing.assert_close(variables.orders[0][1, 2], torch.tensor(2 - 0.1 * 2))
    torch.testing.assert_close(variables.retention[0].detach(), torch.tensor([1.0, 1.0, 1.0, 0.9]))


def test_what_is_worth_more_than_it_costs_stays() -> None:
    variables = made_variables()
    give(variables, -1e3)
    step(variables, Pressure(1.0))
    assert all((squarings == 2).all() for squarings in variables.squarings)
    assert all((orders == 2).all() for orders in variables.orders)
    assert all((retention == 1).all() for retention in variables.retention)


def test_the_exchange_rate_decides() -> None:
    # Worth half of its price at the first rate, a fifth at the second: the push is 0.5 and 0.2.
    for exchange, push in ((1.0, 0.5), (2.5, 0.2)):
        variables = made_variables()
        price = prices_of(variables).squarings[0]
        give(variables, 0.0)
        variables.squarings[0].grad = -0.5 * price
        step(variables, Pressure(exchange))
        expected = torch.tensor(2 - 0.1 * 3 * (1 - push))
        torch.testing.assert_close(variables.squarings[0][1, 2].detach(), expected)


def test_without_pressure_nothing_moves() -> None:
    variables = made_variables(1)
    before = [parameter.detach().clone() for parameter in variables.parameters()]
    give(variables, -1.0)
    step(variables, Pressure(1.0, on=False))
    assert all(torch.equal(a, b) for a, b in zip(before, variables.parameters(), strict=True))


def test_zeros_are_exact_and_come_in_finite_time() -> None:
    variables, contracts = made_variables(), contractions(made_model())
    sparsifier = Sparsifier(variables, SETTINGS)
    for _ in range(60):
        give(variables, 0.0)
        sparsifier.step(prices_of(variables), Pressure(1.0), contracts, 0)
    off = variables.squarings[0] == -1
    assert int(off.sum()) == 20
    assert (variables.squarings[0].diagonal() == 0).all()
    assert (variables.orders[0][:2] == 0).all()
    assert variables.kept_ranges() == [1, 1, 1]


def test_one_step_drops_one_range() -> None:
    variables = made_variables()
    with torch.no_grad():
        for retention in variables.retention:
            retention[-1] = 0.55
    dropped = []
    for _ in range(3):
        give(variables, 0.0)
        step(variables, Pressure(1.0))
        dropped.append(variables.kept_ranges())
    assert dropped == [[3, 3, 3], [3, 3, 3], [3, 3, 3]]
    assert [float(r.detach()[-1]) <= 0.5 for r in variables.retention] == [True, False]


def test_an_unimportant_dimension_goes_before_an_important_one() -> None:
    model, variables = made_model(), made_variables()
    with torch.no_grad():
        for orders in variables.orders:
            orders.fill_(1.0)
    contracts = contractions(model)
    before = contracts[0].weight.detach().clone()
    sparsifier = Sparsifier(variables, SETTINGS)
    for _ in range(4):
        give(variables, 0.0)
        gradient = torch.zeros_like(variables.orders[0])
        gradient[:, 3] = -1.0
        variables.orders[0].grad = gradient
        sparsifier.step(prices_of(variables), Pressure(1.0), contracts, 0)
    assert (variables.orders[0][:, 3] >= 1).all()
    torch.testing.assert_close(variables.orders[0][:, [0, 1, 4]].detach(), torch.full((5, 3), 0.6))
    shrunk = contracts[0].weight.abs() / before.abs()
    torch.testing.assert_close(shrunk[:, 3], torch.ones(16))
    assert (shrunk[:, 0] < 0.9).all()


def test_the_binary_surrogate_holds_a_retention_back() -> None:
    # At 0.7 it says rise, with the slope 2 * 0.7 * 0.3 * -0.4 over the cost.
    ends = []
    for weight in (0.0, 1e-3):
        variables = made_variables()
        with torch.no_grad():
            variables.retention[1][-1] = 0.7
        cost = float(prices_of(variables).retention[1][-1])
        give(variables, 0.0)
        step(variables, Pressure(1.0), replace(SETTINGS, lambda_bin=weight))
        ends.append(float(variables.retention[1][-1].detach()))
    assert ends[0] == pytest.approx(0.6)
    assert ends[1] == pytest.approx(0.6 + 0.1 * 1e-3 * 2 * 0.7 * 0.3 * 0.4 / cost)


def test_curvature_is_worth_something_where_the_gradient_is_none() -> None:
    """Gradients that change sign have a mean of nothing: a pruned unit would be missed all the same."""
    ends = []
    for batch in (0, 10**9):
        variables, contracts = made_variables(), contractions(made_model())
        sparsifier = Sparsifier(variables, replace(SETTINGS, smoothing=0.9, patience_steps=40))
        for number in range(40):
            give(variables, 1e-3 * (-1) ** number)
            sparsifier.step(prices_of(variables), Pressure(1.0), contracts, batch)
        ends.append(float(variables.squarings[0][1, 2].detach()))
    assert ends[0] < 2
    assert ends[1] == 2


def test_worth_is_the_second_order_loss_of_one_degree_less() -> None:
    # By hand: two batches of 8 with gradients -1 and 3, smoothing 1/2: means 1.667 and 6.333 of g and g^2.
    variables = made_variables()
    sparsifier = Sparsifier(variables, replace(SETTINGS, smoothing=0.5, patience_steps=9))
    for gradient in (-1.0, 3.0):
        give(variables, gradient)
        sparsifier.step(prices_of(variables), Pressure(1.0), contractions(made_model()), 8)
    worth = sparsifier._worth(sparsifier.means["orders"][0], sparsifier.squares["orders"][0], 8)
    torch.testing.assert_close(worth[0, 0], torch.tensor(4 * 19 / 3 - 5 / 3))


def test_nothing_moves_before_enough_was_seen() -> None:
    variables = made_variables()
    give(variables, 0.0)
    step(variables, Pressure(1.0), replace(SETTINGS, patience_steps=2))
    assert all((orders == 2).all() for orders in variables.orders)


def test_pressure_follows_a_falling_target() -> None:
    targets = [falling_target(0.8, 0.2, done, 0.5) for done in (0.0, 0.25, 0.5, 1.0)]
    assert targets == pytest.approx([0.8, 0.4, 0.2, 0.2])
    assert falling_target(0.8, None, 0.5, 0.5) is None
    pressure = Pressure(2.0)
    pressure.follow(0.7, 0.8, 0.1)
    assert not pressure.on
    assert pressure.exchange == pytest.approx(2.0 * math.exp(-0.1))
    pressure.follow(0.9, 0.8, 0.1)
    assert pressure.on
    assert pressure.exchange == pytest.approx(2.0)
    fixed = Pressure(2.0)
    fixed.follow(0.9, None, 0.1)
    assert (fixed.on, fixed.exchange) == (True, 2.0)


def test_step_prices_are_differences_of_the_model_s_cost() -> None:
    variables = made_variables(2)
    with torch.no_grad():
        for parameter in (*variables.squarings, *variables.orders):
            parameter.copy_(parameter.round().clamp(min=1.0))
    for prices in (paper_prices(), uniform_prices()):
        found = step_prices(variables, snapped(variables), prices, GEOMETRY, 1.0)
        for layer in range(3):
            for name, place in (
                ("squarings", (1, 2)),
                ("squarings", (0, 1)),
                ("orders", (0, 3)),
                ("orders", (2, 5)),
            ):
                degrees = getattr(variables, name)[layer]
                high = float(degrees[place].detach())
                ends = []
                for degree in (high, high - 1):
                    with torch.no_grad():
                        degrees[place] = degree
                    ends.append(prices.model_s(snapped(variables), GEOMETRY))
                with torch.no_grad():
                    degrees[place] = high
                assert float(getattr(found, name)[layer][place]) == pytest.approx(ends[0] - ends[1], abs=1e-9)


def test_dimension_and_token_prices_are_near_differences_of_the_model_s_cost() -> None:
    variables, prices = made_variables(), paper_prices()
    found = prices_of(variables)
    whole = prices.model_s(snapped(variables), GEOMETRY)
    with torch.no_grad():
        variables.orders[1][:, 4] = 0.0
    removed = prices.model_s(without_unused(snapped(variables)), GEOMETRY)
    gelu = 17 * prices.gelu_step_s(2)
    assert found.dimensions[1] == pytest.approx(whole - removed - gelu, rel=1e-6)
    for layer in range(2):
        variables = made_variables()
        with torch.no_grad():
            variables.retention[layer][-1] = 0.0
        fewer = prices.model_s(snapped(variables), GEOMETRY)
        routing_s = 17 * 16 * prices.selection_element_s
        saved = whole - (fewer - routing_s)
        # A whole range is no small step: what grows with the square is cut less than at first.
        assert float(found.retention[layer][-1]) == pytest.approx(saved, rel=0.3)


def test_a_token_costs_what_its_layer_and_the_later_ones_spend_on_it() -> None:
    uniform = uniform_policy(GEOMETRY, 2, 2)
    first, second = token_prices_s(uniform, paper_prices(), GEOMETRY)
    assert first > second > 0


def test_accounts_add_up() -> None:
    variables = made_variables(3)
    with torch.no_grad():
        variables.orders[0][:, :5] = 0.0
    policy, whole = merged(snapped(variables)), uniform_policy(GEOMETRY, 6, 4)
    prices = paper_prices()
    saved = savings_in_order(policy, whole, GEOMETRY.ffn_widths, prices, GEOMETRY)
    assert saved["uncompressed_s"] == prices.model_s(whole, GEOMETRY)
    left = saved["uncompressed_s"] - saved["degrees_s"] - saved["tokens_s"] - saved["dimensions_s"]
    assert left == pytest.approx(saved["compressed_s"])
    assert saved["compressed_s"] == prices.model_s(without_unused(policy), GEOMETRY)
    assert min(saved["degrees_s"], saved["tokens_s"], saved["dimensions_s"]) > 0
    assert len(used_dimensions(policy.layers[0])) == 19
    assert facts(policy)["dimensions"][0] == 19
    assert facts(policy)["tokens"] == [13, 13, 13]


def test_the_stop_rule() -> None:
    rule = StopRule.under(0.92, 1.0, patience=2)
    assert rule.valid(0.911)
    assert not rule.valid(0.909)
    once = rule.after(0.90)
    assert not once.stopped
    assert not once.after(0.915).after(0.90).stopped
    assert once.after(0.90).stopped
