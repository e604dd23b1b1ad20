"""Prices: what the paper states comes out again, and less work never costs more."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, LayerPolicy, ModelBounds, PriceError
from degreespar.degree.named_prices import prices_named
from degreespar.degree.paper_prices import LATENCIES, Latency, paper_prices, uniform_prices
from degreespar.degree.price_table import default_prices, write_prices
from degreespar.degree.prices import Prices

RANGE = (0.25, 4.0)
POINTS = (
    "input", "query", "key", "value", "scores", "context", "middle", "hidden", "activated", "output",
    "attention_normed", "ffn_normed",
)  # fmt: skip
RANGES = dict.fromkeys(("attention_variance", "ffn_variance", "score_variance"), RANGE)
BOUNDS = LayerBounds(**dict.fromkeys(POINTS, 8.0), **RANGES)


@dataclass(frozen=True)
class Shape:
    width: int
    heads: int


def layer(tokens: int, ffn_width: int, squarings: int, order: int) -> LayerPolicy:
    return LayerPolicy(
        IntGrid.uniform(tokens, tokens, squarings), IntGrid.uniform(tokens, ffn_width, order), BOUNDS
    )


def model(row: Latency) -> tuple[DegreePolicy, Shape]:
    layers = (layer(row.tokens, 4 * row.width, 6, 4),) * row.layers
    return DegreePolicy(layers, ModelBounds(8.0, 8.0, RANGE)), Shape(row.width, row.heads)


@pytest.mark.parametrize("row", LATENCIES, ids=str)
def test_the_papers_prices_give_the_papers_latencies_back(row: Latency) -> None:
    assert paper_prices().model_s(*model(row)) == pytest.approx(row.seconds, rel=0.01)


def test_a_vit_base_layer_costs_what_the_papers_degree_table_says() -> None:
    prices = paper_prices()
    parts = prices.layer_parts_s(layer(197, 3072, 2, 2), Shape(768, 12))
    assert parts["softmax"] == pytest.approx(13.32)
    assert parts["gelu"] == pytest.approx(7.60)
    assert parts["selection"] == 0


def test_uniform_prices_cost_a_vit_base_layer_the_same_and_every_step_alike() -> None:
    paper, uniform = paper_prices(), uniform_prices()
    whole = layer(197, 3072, 6, 4), Shape(768, 12)
    assert uniform.layer_s(*whole) == pytest.approx(paper.layer_s(*whole))
    for ladder in (uniform.softmax_s, uniform.gelu_s):
        steps = np.diff([ladder[state] for state in sorted(ladder)])
        assert steps == pytest.approx(np.full(len(steps), uniform.gelu_step_s(1)))


@pytest.mark.parametrize("prices", [paper_prices(), uniform_prices()], ids=lambda prices: prices.name)
def test_a_lower_degree_never_costs_more(prices: Prices) -> None:
    for ladder in (prices.softmax_s, prices.gelu_s):
        seconds = [ladder[state] for state in sorted(ladder)]
        assert seconds == sorted(seconds)
        assert seconds[0] == 0


def test_mixed_degrees_cost_the_mean_of_their_entries() -> None:
    prices, shape = paper_prices(), Shape(8, 2)
    values = np.full((4, 4), 6)
    values[:, 2:] = 1
    mixed = LayerPolicy(IntGrid(values), IntGrid.uniform(4, 8, 4), BOUNDS)
    each = [prices.layer_s(layer(4, 8, n, 4), shape) for n in (6, 1)]
    assert prices.layer_s(mixed, shape) == pytest.approx(sum(each) / 2)


def test_linear_parts_scale_with_rows_and_dimensions() -> None:
    prices = paper_prices()
    assert prices.linear_s(10, 64, 64) == pytest.approx(10 * prices.linear_s(1, 64, 64))
    assert prices.linear_s(1, 128, 128) > 2 * prices.linear_s(1, 64, 64)


def test_prices_that_miss_a_state_or_are_negative_are_refused() -> None:
    good = paper_prices()
    with pytest.raises(PriceError, match="must price the states"):
        Prices("bad", {0: 1.0}, good.gelu_s, 0.0, 0.0, 0.0)
    with pytest.raises(PriceError, match="from 0 up"):
        Prices("bad", good.softmax_s, good.gelu_s, -1.0, 0.0, 0.0)


def test_prices_go_by_name(tmp_path: Path) -> None:
    assert prices_named("paper") is paper_prices()
    assert prices_named("measured") == default_prices().policy["wan2"]
    write_prices(replace(default_prices(), policy={}), tmp_path / "p.json")
    with pytest.raises(PriceError, match="no prices for 'wan2'"):
        prices_named("measured", tmp_path / "p.json")
    with pytest.raises(PriceError, match="there are paper, uniform, measured"):
        prices_named("free")


def test_measured_prices_rise_with_the_degree_and_with_slower_lines() -> None:
    policies = default_prices().policy
    for prices in policies.values():
        for ladder in (prices.softmax_s, prices.gelu_s):
            assert [ladder[state] for state in sorted(ladder)] == sorted(ladder.values())
    whole = layer(197, 1536, 6, 4), Shape(384, 6)
    seconds = [policies[name].layer_s(*whole) for name in ("none", "lan", "wan1", "wan2")]
    assert seconds == sorted(seconds)
