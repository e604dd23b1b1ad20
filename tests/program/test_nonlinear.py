"""GeLU, softmax and layer norm on the clear engine against their tables in double precision."""

import numpy as np
import pytest

from degreespar.degree import IntGrid
from degreespar.engine import layout
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ops import Ops
from degreespar.engine.ring import signed
from degreespar.engine.secret import Secret
from degreespar.numerics.exponential import EXPONENTIAL, OFF
from degreespar.numerics.gelu import GELU
from degreespar.program.gelu import gelu, gelu_by_pattern
from degreespar.program.norm import layer_norm
from degreespar.program.softmax import LEAST_DISTANCE, attend, exponential, exponentials

OPS = Ops(ClearBackend({}))
RNG = np.random.default_rng(3)


def secret(values: np.ndarray, bound: float, frac_bits: int = 12) -> Secret:
    return OPS.input(np.round(values * 2.0**frac_bits).astype(np.int64), values.shape, frac_bits, bound)


def plain(x: Secret) -> np.ndarray:
    return signed(x.payload, x.bits) / 2.0**x.frac_bits


def jump(order: int) -> float:
    """How far the value leaps at the segment's edge, which the comparison sees only to 2^-8."""
    p = GELU[order]
    return abs(sum(c * p.edge**k for k, c in enumerate(p.coefficients)) - p.edge / 2)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_gelu_follows_its_table(order: int) -> None:
    edges = [
        0.0,
        1e-3,
        -1e-3,
        15.9,
        -15.9,
        *(s * (GELU[order].edge + d) for s in (1, -1) for d in (-0.01, 0.01)),
    ]
    x = np.concatenate([[e for e in edges if abs(e) < 16], RNG.normal(size=4000) * 3])
    error = np.abs(plain(gelu(OPS, secret(x, 16.0), order, 16.0)) - GELU[order].evaluate(x))
    near_edge = np.abs(np.abs(x) - GELU[order].edge) < 2**-7 if order > 1 else np.zeros(x.shape, bool)
    assert error[~near_edge].max() < 2**-9
    assert error[near_edge].max(initial=0) < 2**-9 + (jump(order) if order > 1 else 0)


def test_two_entries_of_one_layer_have_different_orders() -> None:
    x = RNG.normal(size=(3, 5)) * 2
    orders = IntGrid(RNG.choice([0, 1, 2, 3, 4, 6], size=(3, 5)).astype(np.int8))
    got = plain(gelu_by_pattern(OPS, secret(x, 16.0), orders, 16.0))
    for (row, col), order in np.ndenumerate(orders.values):
        assert abs(got[row, col] - GELU[int(order)].evaluate(x[row, col])) < 0.03


def test_a_removed_pattern_is_zero() -> None:
    assert not plain(
        gelu_by_pattern(OPS, secret(np.ones((2, 2)), 16.0), IntGrid.uniform(2, 2, 0), 16.0)
    ).any()


@pytest.mark.parametrize("squarings", range(7))
def test_exponential_follows_its_table(squarings: int) -> None:
    cutoff = EXPONENTIAL[squarings].cutoff
    z = np.concatenate([[0.0, cutoff + 0.02, cutoff - 0.02, -60.0], -RNG.exponential(size=2000) * 4])
    z = np.minimum(z, -LEAST_DISTANCE)
    away = np.abs(z - cutoff) > 2**-7
    error = np.abs(plain(exponential(OPS, secret(z, 64.0), squarings)) - EXPONENTIAL[squarings].evaluate(z))
    assert error[away].max() < 2**-10


def reference_weights(scores: np.ndarray, grid: IntGrid) -> np.ndarray:
    on = grid.values != OFF
    z = scores - np.where(on, scores, -np.inf).max(axis=-1, keepdims=True)
    weights = np.zeros_like(scores)
    for n, row in EXPONENTIAL.items():
        weights = np.where(grid.values == n, row.evaluate(np.minimum(z, 0.0)), weights)
    return weights


def test_attention_mixes_states_and_skips_off_entries() -> None:
    scores, values = RNG.normal(size=(2, 4, 10, 10)) * 3, RNG.normal(size=(2, 4, 10, 8))
    states = RNG.choice([OFF, 1, 2, 5], size=(10, 10)).astype(np.int8)
    states[:, 0] = 6
    grid = IntGrid(states)
    weights = reference_weights(scores, grid)
    expected = (weights / weights.sum(axis=-1, keepdims=True)) @ values
    got = plain(attend(OPS, secret(scores, 32.0), secret(values, 8.0), grid, 8.0))
    assert np.abs(got - expected).max() < 2**-8
    raw = plain(exponentials(OPS, secret(scores, 32.0), grid))
    assert not raw[..., states == OFF].any()
    assert (raw.max(axis=-1) > 0.99).any()


@pytest.mark.parametrize("width", [16, 48, 384])
def test_layer_norm_is_accurate(width: int) -> None:
    x = RNG.normal(size=(3, 5, width)) * RNG.uniform(0.8, 3, size=(3, 5, 1)) + 1
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    got = plain(layer_norm(OPS, secret(x, 32.0), (0.125, 32.0), 1e-6, 16.0))
    assert np.abs(got - expected).max() < 2**-9


def test_layout_takes_and_spreads_by_public_index() -> None:
    x = secret(np.arange(12.0).reshape(2, 6), 16.0)
    even, odd = np.array([0, 2, 4]), np.array([5, 1])
    back = layout.spread([(layout.take(x, even), even), (layout.take(x, odd), odd)], 6)
    assert plain(back).tolist() == [[0, 1, 2, 0, 4, 5], [6, 7, 8, 0, 10, 11]]
