"""Degree policies: only states that a program can run, and a strict JSON form."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from degreespar.degree import (
    GELU_STATES,
    METHODS,
    SQUARINGS_STATES,
    DegreePolicy,
    IntGrid,
    LayerBounds,
    LayerPolicy,
    ModelBounds,
    PolicyError,
    Selection,
)

NUMBERS = [
    *("input", "query", "key", "value", "scores", "context", "middle", "hidden", "activated", "output"),
    *("attention_normed", "ffn_normed"),
]
LAYER_BOUNDS = LayerBounds(
    **{name: 2.0**power for power, name in enumerate(NUMBERS)},
    attention_variance=(0.25, 64.0),
    ffn_variance=(1.5, 3.25),
    score_variance=(0.5, 8.0),
)
MODEL_BOUNDS = ModelBounds(final_normed=16.0, logits=0.5, final_variance=(0.001, 10.0))


def uniform_policy(tokens: int = 3, ffn_width: int = 4, layers: int = 2) -> DegreePolicy:
    layer = LayerPolicy(
        IntGrid.uniform(tokens, tokens, 5), IntGrid.uniform(tokens, ffn_width, 4), LAYER_BOUNDS
    )
    return DegreePolicy((layer,) * layers, MODEL_BOUNDS)


def test_states_are_those_of_the_degree_space() -> None:
    assert sorted(SQUARINGS_STATES) == [-1, 0, 1, 2, 3, 4, 5, 6]
    assert sorted(GELU_STATES) == [0, 1, 2, 3, 4, 6]


@st.composite
def policies(draw: st.DrawFn) -> DegreePolicy:
    tokens = draw(st.integers(1, 7))
    layers: list[LayerPolicy] = []
    for left in reversed(range(draw(st.integers(1, 3)))):
        selection = draw(selections(tokens)) if left and tokens > 1 and draw(st.booleans()) else None
        kept = selection.kept_tokens if selection else tokens
        squarings = _grid(draw, tokens, tokens, sorted(SQUARINGS_STATES))
        np.fill_diagonal(squarings, 3)
        orders = _grid(draw, kept, draw(st.integers(1, 5)), sorted(GELU_STATES))
        layers.append(LayerPolicy(IntGrid(squarings), IntGrid(orders), LAYER_BOUNDS, selection))
        tokens = kept
    return DegreePolicy(tuple(layers), MODEL_BOUNDS)


@st.composite
def selections(draw: st.DrawFn, tokens: int) -> Selection:
    sizes, free = [], tokens - 1
    while free and (not sizes or draw(st.booleans())):
        sizes.append(draw(st.integers(1, free)))
        free -= sizes[-1]
    return Selection(tuple(sizes), draw(st.floats(0.0, 1.0)), draw(st.sampled_from([None, *METHODS])))


def _grid(draw: st.DrawFn, rows: int, cols: int, states: list[int]) -> np.ndarray:
    flat = draw(st.lists(st.sampled_from(states), min_size=rows * cols, max_size=rows * cols))
    return np.array(flat, dtype=np.int8).reshape(rows, cols)


@settings(deadline=None)
@given(policies())
def test_json_gives_the_same_policy(policy: DegreePolicy) -> None:
    again = DegreePolicy.from_json(json.loads(json.dumps(policy.to_json())))
    assert again == policy
    assert hash(again) == hash(policy)


def test_policies_differ_by_one_entry() -> None:
    grid = np.full((3, 3), 5)
    grid[1, 2] = 4
    layer = replace(uniform_policy().layers[0], squarings=IntGrid(grid))
    assert replace(uniform_policy(), layers=(layer, uniform_policy().layers[1])) != uniform_policy()


@pytest.mark.parametrize("state", [-2, 7, 100])
def test_refuses_other_squarings(state: int) -> None:
    grid = np.full((3, 3), 5)
    grid[1, 2] = state
    with pytest.raises(PolicyError, match=f"squarings holds {state} at row 1, column 2"):
        replace(uniform_policy().layers[0], squarings=IntGrid(grid))


@pytest.mark.parametrize("state", [-1, 5, 7])
def test_refuses_other_gelu_orders(state: int) -> None:
    with pytest.raises(PolicyError, match=f"gelu_orders holds {state} at row 0, column 0"):
        replace(uniform_policy().layers[0], gelu_orders=IntGrid.uniform(3, 4, state))


def test_refuses_a_softmax_row_that_is_off_everywhere() -> None:
    grid = np.full((3, 3), -1)
    grid[0, 0] = grid[2, 1] = 0
    with pytest.raises(PolicyError, match="row 1 of squarings"):
        replace(uniform_policy().layers[0], squarings=IntGrid(grid))
    grid[1, 2] = 0
    assert replace(uniform_policy().layers[0], squarings=IntGrid(grid)).tokens == 3


@pytest.mark.parametrize(("rows", "cols", "sentence"), [(3, 4, "square grid"), (4, 4, "each of 4 tokens")])
def test_refuses_grids_that_do_not_fit_together(rows: int, cols: int, sentence: str) -> None:
    with pytest.raises(PolicyError, match=sentence):
        replace(uniform_policy().layers[0], squarings=IntGrid.uniform(rows, cols, 1))


def selecting(tokens: int, ranges: tuple[int, ...], rows: int) -> LayerPolicy:
    grids = IntGrid.uniform(tokens, tokens, 2), IntGrid.uniform(rows, 4, 2)
    return LayerPolicy(*grids, LAYER_BOUNDS, Selection(ranges, 0.5))


def test_a_selection_says_how_many_tokens_leave() -> None:
    layer = selecting(9, (2, 3), 6)
    assert (layer.tokens, layer.kept_tokens) == (9, 6)
    assert selecting(6, (2, 3), 6).kept_tokens == 6  # nothing is dropped, but tokens may move


@pytest.mark.parametrize(("tokens", "rows"), [(9, 9), (9, 5), (5, 6)])
def test_refuses_a_selection_that_does_not_fit_its_layer(tokens: int, rows: int) -> None:
    with pytest.raises(PolicyError, match="tokens"):
        selecting(tokens, (2, 3), rows)


@pytest.mark.parametrize("ranges", [(), (0,), (3, -1), (2, True), [2], (2.0,)])
def test_refuses_ranges_that_are_no_sizes(ranges: Any) -> None:
    with pytest.raises(PolicyError, match="ranges must be sizes"):
        Selection(ranges, 0.5)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), 1, "0.5"])
def test_refuses_a_mix_outside_of_its_interval(alpha: Any) -> None:
    with pytest.raises(PolicyError, match="alpha must be"):
        Selection((2,), alpha)


@pytest.mark.parametrize("method", ["", "sort", 1])
def test_refuses_protocols_that_do_not_exist(method: Any) -> None:
    with pytest.raises(PolicyError, match="method must be one of bitonic, rank or null"):
        Selection((2,), 0.5, method)


def test_as_many_tokens_enter_as_left_the_layer_before() -> None:
    first = selecting(9, (2, 3), 6)
    last = LayerPolicy(IntGrid.uniform(6, 6, 2), IntGrid.uniform(6, 4, 2), LAYER_BOUNDS)
    assert DegreePolicy((first, last), MODEL_BOUNDS).layers[1].tokens == 6
    with pytest.raises(PolicyError, match="6 tokens leave layer 0, but 9 enter the next"):
        DegreePolicy((first, first), MODEL_BOUNDS)


def test_the_last_layer_selects_nothing() -> None:
    with pytest.raises(PolicyError, match="last layer"):
        DegreePolicy((selecting(9, (2, 3), 6),), MODEL_BOUNDS)


@pytest.mark.parametrize("layers", [0, 65])
def test_refuses_a_strange_number_of_layers(layers: int) -> None:
    with pytest.raises(PolicyError, match=f"not {layers}"):
        uniform_policy(layers=layers)


@pytest.mark.parametrize("bound", [0.0, -1.0, 3.0, float("inf"), float("nan"), 2.0**31, 2.0**-31, 4, "4.0"])
def test_bounds_are_powers_of_two(bound: Any) -> None:
    with pytest.raises(PolicyError, match="scores must be a power of two"):
        replace(LAYER_BOUNDS, scores=bound)
    with pytest.raises(PolicyError, match="logits must be a power of two"):
        replace(MODEL_BOUNDS, logits=bound)


@pytest.mark.parametrize(
    "ends",
    [
        (0.0, 1.0),
        (-1.0, 1.0),
        (2.0, 2.0),
        (2.0, 1.0),
        (1.0, float("inf")),
        (float("nan"), 1.0),
        (2.0**-25, 2.0**16),
        (1.0,),
    ],
)
def test_ranges_are_positive_and_ordered(ends: Any) -> None:
    with pytest.raises(PolicyError, match="ffn_variance"):
        replace(LAYER_BOUNDS, ffn_variance=ends)
    with pytest.raises(PolicyError, match="final_variance"):
        replace(MODEL_BOUNDS, final_variance=ends)


BREAKS: list[tuple[str, Callable[[Any], object]]] = [
    ("policy must be an object", lambda policy: [policy]),
    ("policy lacks the key 'bounds'", lambda policy: policy.pop("bounds")),
    ("policy has the unknown key 'extra'", lambda policy: policy.update(extra=1)),
    ("policy.layers must be a list", lambda policy: policy.update(layers={})),
    ("1..64 layers, not 0", lambda policy: policy.update(layers=[])),
    ("1..64 layers, not 100", lambda policy: policy.update(layers=[None] * 100)),
    (r"policy.layers\[1\] must be an object", lambda policy: policy["layers"].__setitem__(1, 5)),
    (r"policy.layers\[1\] lacks the key", lambda policy: policy["layers"][1].pop("squarings")),
    (r"policy.layers\[1\] has the unknown", lambda policy: policy["layers"][1].update(x=0)),
    (r"policy.layers\[0\].squarings.rows", lambda policy: policy["layers"][0]["squarings"].update(rows=None)),
    (
        r"policy.layers\[0\]: squarings holds 7",
        lambda policy: policy["layers"][0]["squarings"].update(runs=[[7, 9]]),
    ),
    (r"policy.layers\[0\]: row 0", lambda policy: policy["layers"][0]["squarings"].update(runs=[[-1, 9]])),
    (
        r"policy.layers\[1\].bounds lacks the key 'hidden'",
        lambda policy: policy["layers"][1]["bounds"].pop("hidden"),
    ),
    (
        r"policy.layers\[1\].bounds.key must be a number",
        lambda policy: policy["layers"][1]["bounds"].update(key=2),
    ),
    (
        r"policy.layers\[1\].bounds.ffn_variance must be a pair",
        lambda policy: policy["layers"][1]["bounds"].update(ffn_variance=[1.0]),
    ),
    (
        r"policy.layers\[1\].bounds.ffn_variance must be a list",
        lambda policy: policy["layers"][1]["bounds"].update(ffn_variance=1.0),
    ),
    (
        r"policy.layers\[1\].bounds: key must be a power",
        lambda policy: policy["layers"][1]["bounds"].update(key=3.0),
    ),
    (r"policy.layers\[0\] lacks the key 'selection'", lambda policy: policy["layers"][0].pop("selection")),
    (
        r"policy.layers\[0\].selection has the unknown key 'k'",
        lambda policy: policy["layers"][0].update(
            selection={"ranges": [1], "alpha": 0.5, "method": None, "k": 1}
        ),
    ),
    (
        r"policy.layers\[0\].selection.ranges must be an integer",
        lambda policy: policy["layers"][0].update(selection={"ranges": [1.0], "alpha": 0.5, "method": None}),
    ),
    (
        r"policy.layers\[0\].selection: alpha must be",
        lambda policy: policy["layers"][0].update(selection={"ranges": [1], "alpha": 2.0, "method": None}),
    ),
    ("policy.bounds.logits must be a number", lambda policy: policy["bounds"].update(logits=True)),
    (
        "policy.bounds: final_variance must be a pair",
        lambda policy: policy["bounds"].update(final_variance=[2.0, 1.0]),
    ),
]


@pytest.mark.parametrize(("sentence", "spoil"), BREAKS, ids=[sentence for sentence, _ in BREAKS])
def test_json_is_read_strictly_and_the_place_is_named(sentence: str, spoil: Callable[[Any], object]) -> None:
    policy: Any = copy.deepcopy(json.loads(json.dumps(uniform_policy().to_json())))
    spoiled = spoil(policy)
    with pytest.raises(PolicyError, match=sentence):
        DegreePolicy.from_json(spoiled if isinstance(spoiled, list) else policy)
