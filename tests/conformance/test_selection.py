"""Selection between two parties: the clear engine's result, and nothing but public facts on the wire.

The paper's table of observable and protected information, line by line: K_l, shapes and the architecture are
public and equal over inputs; scores, threshold, comparison outcomes, movements, keep bits, indices and
identities appear in no reveal, as there is none.
"""

from typing import Any

import numpy as np
import pytest

from degreespar.degree import METHODS, Method, Selection
from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.program.selection import route, select_tokens
from degreespar.program.vca import ClassRow
from tests.support.engines import Program, by_direction, declared, run_clear, run_pair, run_trace

both = pytest.mark.parametrize("method", METHODS)
RNG = np.random.default_rng(11)


def routing(scores: np.ndarray, ranges: tuple[int, ...], method: Method, width: int) -> Program:
    rows = np.random.default_rng(5).uniform(-8, 8, size=(len(scores), width))
    return lambda o, f: route(o, f(scores, 16.0), f(rows, 8.0), Selection(ranges, 0.5, method))


def whole(variance: np.ndarray, weights: np.ndarray, method: Method) -> Program:
    """Scoring, ranking and routing, as a layer does it."""
    tokens, heads = variance.size, len(weights)
    rows = np.random.default_rng(6).uniform(-8, 8, size=(tokens, 12))
    shares = 1 / weights.sum(axis=-1)

    def program(ops: Ops, feed: Any) -> Secret:
        row = ClassRow(feed(weights, 1.001, 13, 33), feed(shares, 2.0, 18))
        assert layout.part(row.share, 0).shape == () and row.weights.shape == (heads, tokens)
        chosen = Selection((3, 2), 0.4, method)
        return select_tokens(ops, feed(rows, 8.0), feed(variance, 8.0, 16), row, chosen, (0.25, 4.0))

    return program


@both
@pytest.mark.parametrize(
    ("size", "ranges", "width"),
    [(2, (1,), 1), (5, (1, 2), 3), (9, (9,), 2), (23, (7, 5, 3), 4), (40, (26,), 33)],
)
def test_two_parties_route_as_the_clear_engine_does(
    size: int, ranges: tuple[int, ...], width: int, method: Method
) -> None:
    program = routing(RNG.integers(-3, 4, size).astype(np.float64), ranges, method, width)
    (expected,), pair = run_clear(program), run_pair(program)
    np.testing.assert_array_equal(pair.outputs[0], expected)
    events, flips = declared(run_trace(program))
    for direction in ("to_client", "to_server"):
        assert by_direction(pair.server_events, direction) == by_direction(events, direction)
        assert by_direction(pair.client_events, direction) == by_direction(events, direction)
    assert (pair.flips, pair.unused, pair.reveals) == (flips, 0, [])


@pytest.mark.slow
@both
def test_two_parties_route_wide_rows(method: Method) -> None:
    program = routing(RNG.uniform(-15, 15, 60), (20, 11), method, 1024)
    (expected,), pair = run_clear(program), run_pair(program)
    np.testing.assert_array_equal(pair.outputs[0], expected)


@both
def test_whoever_is_kept_the_transcript_is_the_same(method: Method) -> None:
    size = 21
    orders = [np.arange(size) / 2.0, -np.arange(size) / 2.0, np.arange(size) % 2.0, RNG.uniform(-9, 9, size)]
    runs = [run_pair(routing(scores, (4, 6), method, 3)) for scores in orders]
    assert len({run.outputs[0].tobytes() for run in runs}) == len(runs)  # other tokens were kept
    for run in runs:
        assert (run.server_events, run.client_events) == (runs[0].server_events, runs[0].client_events)
        assert run.outputs[0].shape == (10, 3)
        assert run.reveals == []


@both
def test_scoring_and_routing_open_nothing_and_pass_the_same_messages(method: Method) -> None:
    runs, tokens = [], 11
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        # Both grow together, in any order: no two scores are so close that rounding decides.
        order = rng.permutation(tokens)
        variance, paid = np.linspace(0.5, 3.0, tokens)[order], np.linspace(0.1, 1.0, tokens)[order]
        weights = np.stack([paid, paid**2, np.sqrt(paid)])
        program = whole(variance, weights, method)
        run = run_pair(program)
        assert run_trace(program).reveals == run.reveals == []
        (expected,) = run_clear(program)
        np.testing.assert_array_equal(run.outputs[0], expected)
        runs.append(run)
    assert runs[0].client_events == runs[1].client_events
    assert not np.array_equal(runs[0].outputs[0], runs[1].outputs[0])
    assert runs[0].outputs[0].shape == (6, 12)
