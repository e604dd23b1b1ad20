"""One functionality, two protocols: each against the oracle."""

import itertools

import numpy as np
import pytest

from degreespar.degree import METHODS, Method, Selection
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret
from degreespar.program.selection import choice, route
from tests.program.selection.oracle import OPS, check, kept, plain, secret

both = pytest.mark.parametrize("method", METHODS)


def splits(size: int) -> list[tuple[int, ...]]:
    """Rank ranges of every shape: one token, some, all; one, two and three ranges."""
    third = max(1, size // 3)
    shapes = [(1,), (third,), (size - 1,), (size,), (third, size - third)]
    if size >= 4:
        shapes += [(1, third), (third, 1, size - third - 2), (1, 1, 1)]
    return sorted({shape for shape in shapes if all(shape)})


@both
@pytest.mark.parametrize("size", range(2, 7))
def test_every_order_and_every_tie_of_few_tokens(size: int, method: Method) -> None:
    keys = np.array(list(itertools.product(range(min(size, 4)), repeat=size)), dtype=np.float64)
    for ranges in splits(size):
        check(keys, ranges, method)


@both
@pytest.mark.parametrize("size", range(2, 41))
def test_every_size_with_small_keys(size: int, method: Method) -> None:
    rng = np.random.default_rng(size)
    alike = [np.full(size, 3.0), np.arange(size) % 2.0, -(np.arange(size) // 2.0) % 13]
    drawn = [rng.integers(-top, top + 1, size=size).astype(np.float64) for top in (1, 3, 15)]
    scores = np.stack([*alike, *drawn])
    for ranges in splits(size):
        check(scores, ranges, method, width=2)


@both
@pytest.mark.parametrize(("size", "width"), [(64, 16), (127, 5), (196, 24), (300, 3), (512, 2), (33, 1024)])
def test_random_scores_and_wide_rows(size: int, width: int, method: Method) -> None:
    scores = np.random.default_rng(width).uniform(-15.9, 15.9, size=(2, size))
    check(np.round(scores * 4096) / 4096, (size // 4, size // 3), method, width)


@both
def test_scores_that_fill_their_bound(method: Method) -> None:
    edge = 16.0 - 2.0**-12
    check(np.array([-edge, edge, 0.0, edge, -edge, 2.0**-12, -(2.0**-12)]), (2, 2), method)


@both
def test_rows_may_lie_in_any_ring(method: Method) -> None:
    scores, rows = np.array([1.0, 3.0, 2.0, 5.0, 4.0]), np.arange(10.0).reshape(5, 2) - 4.5
    for bits in (18, 25, 64):
        x = OPS.at(secret(rows, 8.0), bits)
        got = route(OPS, secret(scores, 16.0), x, Selection((1, 2), 0.5, method))
        np.testing.assert_array_equal(plain(got), rows[kept(list(scores), (1, 2))])
        assert got.bits <= required_bits(8.0, 12)


def shapes(size: int, width: int) -> tuple[Secret, Secret]:
    score = Secret(np.zeros(size, np.uint64), 24, 14, 200.0)
    return score, Secret(np.zeros((size, width), np.uint64), 19, 12, 32.0)


def test_the_cheaper_protocol_runs_unless_one_is_named() -> None:
    score, x = shapes(197, 384)
    times = {method: choice.seconds(choice.declared(method, score, x, (128,))) for method in METHODS}
    assert choice.cheaper(score, x, (128,)) == min(times, key=times.__getitem__)
    named = choice.declared("bitonic", score, x, (128,))
    assert named.flips > choice.declared("rank", score, x, (128,)).flips


@both
def test_keeping_fewer_never_costs_more(method: Method) -> None:
    score, x = shapes(60, 8)
    costs = [choice.declared(method, score, x, (size,)) for size in (10, 20, 31, 45, 59)]
    totals = [plan.bytes_to_client + plan.bytes_to_server for plan in costs]
    assert totals == sorted(totals)
    assert [plan.flips for plan in costs] == sorted(plan.flips for plan in costs)
