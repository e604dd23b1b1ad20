"""One suite, every engine: each verb of `Ops` on clear, trace and two_party.

Equal up to the stated number of units (one per truncation that shares round by chance), and the
messages of a real run are exactly those that the trace declares.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from degreespar.engine import layout
from degreespar.engine.backend import PrivateMatrix, PrivateTensor
from degreespar.engine.ops import Ops
from tests.support.engines import Program, by_direction, declared, run_clear, run_pair, run_trace

RNG = np.random.default_rng(7)
EDGES = np.array([0.0, 2**-12, -(2**-12), 1.0, -1.0, 7.999, -7.999, 0.5])
NUMBERS = np.concatenate([EDGES, RNG.uniform(-8, 8, size=121)])
OTHERS = np.concatenate([EDGES[::-1], RNG.uniform(-8, 8, size=121)])
MATRIX = np.concatenate(
    [np.full((1, 5), 32767), np.full((1, 5), -32768), RNG.integers(-32768, 32768, (9, 5))]
)
WEIGHTS = {"w": MATRIX, "b": RNG.integers(-(2**14), 2**14, size=(5,))}


@dataclass(frozen=True)
class Case:
    """A verb's name, a program that uses it, and how many units the engines may differ by."""

    name: str
    program: Program
    units: int = 0


def _bits_as_numbers(ops: Ops, feed: Any) -> Any:
    bit = ops.less_than(feed(NUMBERS, 8.0), (1.5,), 12)[0]
    return ops.mask(ops.negate_bits(bit), feed(OTHERS, 8.0))


def _swapped(ops: Ops, feed: Any) -> Any:
    x, y = feed(NUMBERS[:120].reshape(2, 6, 10), 8.0), feed(OTHERS[:120].reshape(2, 6, 10), 8.0)
    bit = ops.less_than(feed(OTHERS[:12].reshape(2, 6), 8.0), (0.5,), 12)[0]
    return list(ops.swap_rows(bit, x, y))


def _numbers_from_bits(bits: int) -> Program:
    return lambda o, f: o.as_number(o.less_than(f(NUMBERS, 8.0), (0.0,), 12)[0], bits)


TALL = PrivateMatrix("w", 11, 5, 14)
BIAS = PrivateTensor("b", (5,), 12)
SUMS, VARIANCES = np.linspace(0.5, 50, 41), np.geomspace(2**-6, 16, 41)
UNSIGNED = np.concatenate([[0.0, 2**-12, 1 - 2**-12, 0.5], RNG.uniform(0, 1 - 2**-12, size=60)])
WIDE_RANGE = np.geomspace(0.125, 255, 23)
LEFT, RIGHT = NUMBERS[:30].reshape(2, 3, 5), OTHERS[:40].reshape(2, 5, 4)

CASES = [
    Case("add", lambda o, f: o.add(f(NUMBERS, 8.0), f(OTHERS, 8.0))),
    Case("subtract_mixed_units", lambda o, f: o.subtract(f(NUMBERS, 8.0), f(OTHERS, 8.0, 9))),
    Case("add_public", lambda o, f: o.add_public(f(NUMBERS, 8.0), -3.25, bound=16.0)),
    Case("add_private", lambda o, f: o.add_private(f(np.ones((3, 5)), 8.0), BIAS, 16.0)),
    Case("extend", lambda o, f: o.at(f(NUMBERS, 8.0), 40)),
    Case("extend_to_64", lambda o, f: o.at(f(NUMBERS, 8.0), 64)),
    Case("narrow_and_extend", lambda o, f: o.at(o.at_most(f(NUMBERS, 8.0, 12, 44), 18), 30)),
    Case("rescale", lambda o, f: o.rescale(f(NUMBERS, 8.0), 5), units=1),
    Case("scale", lambda o, f: o.scale(f(NUMBERS, 8.0), 1 / 7, 20, 12), units=1),
    Case("sum", lambda o, f: o.sum(f(NUMBERS.reshape(3, 43), 8.0), axis=-1, bound=344.0)),
    Case("less_than", lambda o, f: o.less_than(f(NUMBERS, 8.0), (-2.0, 0.0, 2.5), 12)),
    Case("less_than_wide", lambda o, f: o.less_than(f(NUMBERS, 8.0, 40), (0.0,), 40)),
    Case("mask", _bits_as_numbers),
    Case("less", lambda o, f: o.less(f(NUMBERS, 8.0), f(OTHERS, 8.0))),
    Case("less_of_equals", lambda o, f: o.less(f(NUMBERS, 8.0), f(NUMBERS, 8.0))),
    Case("less_mixed_units", lambda o, f: o.less(f(NUMBERS, 8.0), f(OTHERS, 8.0, 9))),
    Case("swap_rows", _swapped),
    Case("as_number", _numbers_from_bits(9)),
    Case("as_number_of_one_bit", _numbers_from_bits(1)),
    Case("as_number_wide", _numbers_from_bits(64)),
    Case("square", lambda o, f: o.square(f(NUMBERS, 8.0), bound=64.0, frac_bits=12), units=1),
    Case("square_wide", lambda o, f: o.square(f(NUMBERS, 8.0, 20), bound=64.0, frac_bits=40)),
    Case("square_fits", lambda o, f: o.square(f(NUMBERS, 8.0, 5), bound=64.0, frac_bits=4), units=1),
    Case("square_upper_half", lambda o, f: o.square(f(UNSIGNED, 0.5), 0.5, 12, nonnegative=True), units=1),
    Case("at_all", lambda o, f: o.at_all([(f(NUMBERS, 8.0), 40), (f(OTHERS, 8.0), 21), (f(LEFT, 8.0), 9)])),
    Case("mask_all", lambda o, f: o.mask_all(f(OTHERS, 8.0), o.less_than(f(NUMBERS, 8.0), (0.0, 2.0), 12))),
    Case("less_mean", lambda o, f: o.less_mean(f(NUMBERS[:120].reshape(2, 60), 8.0, 12, 24), 960.0)),
    Case("multiply", lambda o, f: o.multiply(f(NUMBERS, 8.0), f(OTHERS, 8.0), 64.0, 12), units=1),
    Case("multiply_row", lambda o, f: o.multiply(f(LEFT, 8.0), f(OTHERS[:3, None], 8.0), 64.0, 24)),
    Case("linear", lambda o, f: o.linear(f(NUMBERS[:33].reshape(3, 11), 8.0), TALL, 256.0), 1),
    Case("linear_batch", lambda o, f: o.linear(f(OTHERS[:66].reshape(2, 3, 11), 8.0), TALL, 256.0), 1),
    Case("matmul", lambda o, f: o.matmul(f(LEFT, 8.0), f(RIGHT, 8.0), 512.0, 12), units=1),
    Case("maximum", lambda o, f: o.maximum(f(NUMBERS[:127].reshape(1, 127), 8.0))),
    Case("maximum_rows", lambda o, f: o.maximum(f(OTHERS[:120].reshape(4, 5, 6), 8.0))),
    Case("maximum_of_one", lambda o, f: o.maximum(f(OTHERS[:5].reshape(5, 1), 8.0))),
    Case("reciprocal", lambda o, f: o.reciprocal(f(SUMS, 64.0, 13), 0.5, 50.0, 18), units=12),
    Case("reciprocal_root", lambda o, f: o.reciprocal_root(f(VARIANCES, 16.0, 16), 2**-6, 16.0, 16), 40),
    Case("root_gained", lambda o, f: o.reciprocal_root(f(VARIANCES, 16.0, 16), 2**-6, 16.0, 16, 0.75), 40),
    Case("root_wide", lambda o, f: o.reciprocal_root(f(WIDE_RANGE, 256.0, 16), 0.125, 256.0, 16, 0.75), 40),
    Case("any_memory_order", lambda o, f: o.rescale(o.at(layout.swap(f(LEFT, 8.0), 0, 2), 40), 9), units=1),
    Case("gathered", lambda o, f: o.square(layout.take(f(LEFT, 8.0), np.array([4, 0])), 64.0, 24)),
    Case("empty", lambda o, f: o.square(f(np.zeros((0,)), 8.0), bound=64.0, frac_bits=12)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_engines_agree_and_the_declared_cost_is_the_metered_one(case: Case) -> None:
    expected = run_clear(case.program, WEIGHTS)
    pair = run_pair(case.program, WEIGHTS)
    for want, got in zip(expected, pair.outputs, strict=True):
        assert want.shape == got.shape
        assert np.abs(want - got).max(initial=0) <= case.units
    events, flips = declared(run_trace(case.program))
    for direction in ("to_client", "to_server"):
        wanted = by_direction(events, direction)
        assert by_direction(pair.server_events, direction) == wanted
        assert by_direction(pair.client_events, direction) == wanted
    assert pair.flips == max(flips, 0)
    assert pair.unused == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_transcript_does_not_depend_on_shares(case: Case) -> None:
    first, second = run_pair(case.program, WEIGHTS, seed=1), run_pair(case.program, WEIGHTS, seed=2)
    assert first.client_events == second.client_events


def test_the_inverse_is_accurate() -> None:
    x = np.linspace(0.5, 50, 400)
    got = run_clear(lambda o, f: o.reciprocal(f(x, 64.0, 13), 0.5, 50.0, 18))[0] / 2.0**18
    assert np.abs(got - 1 / (np.round(x * 2**13) / 2**13)).max() < 12 * 2.0**-18
    got = run_clear(lambda o, f: o.reciprocal_root(f(x, 64.0, 16), 0.5, 50.0, 16))[0] / 2.0**16
    assert np.abs(got * np.sqrt(x) - 1).max() < 2.0**-12
