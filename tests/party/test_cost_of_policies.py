"""What a policy costs: less of anything costs less, and what is off or removed costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from degreespar.artifact import VitGeometry
from degreespar.bench.made_model import made_policy, made_public
from degreespar.degree import (
    GELU_STATES,
    METHODS,
    SQUARINGS_STATES,
    DegreePolicy,
    IntGrid,
    LayerPolicy,
    Method,
    Selection,
)
from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.engine.trace import TraceBackend
from degreespar.numerics.exponential import OFF
from degreespar.party.declared import declare
from degreespar.party.demand import Demand
from degreespar.program.gelu import gelu_by_pattern
from degreespar.program.softmax import exponentials

GEOMETRY = VitGeometry(
    image_px=10,
    patch_px=2,
    channels=1,
    width=32,
    heads=2,
    ffn_widths=(64, 64),
    classes=3,
    layer_norm_eps=1e-6,
)
TOKENS, FFN_WIDTH = GEOMETRY.tokens, 64


def cost_bytes(policy: DegreePolicy, geometry: VitGeometry = GEOMETRY) -> int:
    """Of a whole answer: both phases, both ways."""
    windows = declare(Demand.of(made_public("made", geometry, policy)))
    phases = [phase for window in windows for phase in (window.prepare, window.answer)]
    return sum(phase.to_client_bytes + phase.to_server_bytes for phase in phases)


def answer_bytes(policy: DegreePolicy) -> int:
    """Of the answer phase alone."""
    demand = Demand.of(made_public("made", GEOMETRY, policy))
    return demand.bytes_to_client + demand.bytes_to_server


def first_layer(change: Callable[[LayerPolicy], LayerPolicy]) -> DegreePolicy:
    policy = made_policy(GEOMETRY, 4, 3)
    return replace(policy, layers=(change(policy.layers[0]), policy.layers[1]))


def assert_ascending(costs: list[int]) -> None:
    assert all(less < more for less, more in pairwise(costs)), costs


@pytest.mark.parametrize("share", [1, 9, TOKENS - 1])
def test_every_squaring_costs_more_and_off_is_the_least(share: int) -> None:
    def with_state(state: int) -> DegreePolicy:
        grid = np.full((TOKENS, TOKENS), 3)
        grid[:, 1 : 1 + share] = state
        return first_layer(lambda layer: replace(layer, squarings=IntGrid(grid)))

    policies = [with_state(state) for state in sorted(SQUARINGS_STATES)]
    assert_ascending([answer_bytes(policy) for policy in policies])
    # At 9, pairs move from OTs to ciphertexts on the way, whose whole polynomials can take fewer bytes.
    if share in (1, TOKENS - 1):
        assert_ascending([cost_bytes(policy) for policy in policies])


@pytest.mark.parametrize("share", [8, 35, FFN_WIDTH])
@pytest.mark.parametrize("without", [3, 4])
def test_every_gelu_order_costs_more_and_removed_is_the_least(share: int, without: int) -> None:
    # Order 3 takes a square and a product, order 4 two squares: which is the dearer depends on how many
    # there are, since pairs are made of OTs or of whole ciphertexts. Either is in its place among the others.
    # A small group beside a large one may be dearer to prepare than both as one: whole layers are added up.
    def with_order(order: int) -> DegreePolicy:
        grid = np.full((TOKENS, FFN_WIDTH), 2)
        grid[:, :share] = order
        return first_layer(lambda layer: replace(layer, gelu_orders=IntGrid(grid)))

    policies = [with_order(order) for order in sorted(GELU_STATES - {without})]
    assert_ascending([answer_bytes(policy) for policy in policies])
    if share == FFN_WIDTH:
        assert_ascending([cost_bytes(policy) for policy in policies])


@pytest.mark.parametrize("method", METHODS)
def test_every_token_kept_costs_more(method: Method) -> None:
    def keeping(kept: int) -> DegreePolicy:
        layer, last = made_policy(GEOMETRY, 4, 3).layers
        orders, inner = IntGrid.uniform(kept, FFN_WIDTH, 3), IntGrid.uniform(kept, kept, 4)
        layer = replace(layer, gelu_orders=orders, selection=Selection((kept - 1,), 0.5, method))
        policy = made_policy(GEOMETRY, 4, 3)
        return replace(policy, layers=(layer, replace(last, squarings=inner, gelu_orders=orders)))

    assert_ascending([cost_bytes(keeping(kept)) for kept in (2, 5, 11, 16, 21, 25)])


def test_every_ffn_unit_costs_more() -> None:
    geometries = [replace(GEOMETRY, ffn_widths=(width, 64)) for width in (8, 20, 32, 64, 96)]
    assert_ascending([cost_bytes(made_policy(geometry, 4, 3), geometry) for geometry in geometries])


def declared(work: Callable[[Ops], object]) -> tuple[object, object]:
    """Needs and messages."""
    trace = TraceBackend()
    trace.begin_window("work")
    work(Ops(trace))
    return trace.windows[0][1].correlations(), trace.windows[0][1].events()


def blank(*shape: int) -> Secret:
    return Secret(np.zeros(shape, dtype=np.uint64), 18, 12, 16.0)


def test_removed_gelu_entries_cost_nothing() -> None:
    orders = np.zeros((6, 10), dtype=np.int8)
    orders[2:5, ::3] = 4
    some = declared(lambda ops: gelu_by_pattern(ops, blank(6, 10), IntGrid(orders), 16.0))
    few = IntGrid.uniform(1, np.count_nonzero(orders), 4)
    assert some == declared(lambda ops: gelu_by_pattern(ops, blank(1, few.cols), few, 16.0))
    none = IntGrid.uniform(6, 10, 0)
    assert declared(lambda ops: gelu_by_pattern(ops, blank(6, 10), none, 16.0)) == ([], [])


def test_softmax_entries_that_are_off_cost_nothing() -> None:
    grid = np.full((6, 10), OFF, dtype=np.int8)
    for row in range(6):
        grid[row, [row, 9, (row + 3) % 9]] = 2
    some = declared(lambda ops: exponentials(ops, blank(2, 6, 10), IntGrid(grid)))
    few = IntGrid.uniform(6, 3, 2)
    assert some == declared(lambda ops: exponentials(ops, blank(2, 6, 3), few))
