"""The parts that only texts need, on the clear engine and between two parties."""

from __future__ import annotations

import numpy as np
import pytest

from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.numerics import TANH
from degreespar.program.block import masked
from degreespar.program.label import class_of, label_bits, largest_class
from degreespar.program.tanh import tanh
from tests.support.engines import run_clear, run_pair, run_trace

RNG = np.random.default_rng(11)


def test_tanh_is_the_polynomial_of_the_tables() -> None:
    x = np.concatenate([np.linspace(-8, 8, 1001), [0.0, TANH.edge, -TANH.edge]])
    (units,) = run_clear(lambda ops, feed: tanh(ops, feed(x, 16.0)))
    # Edges are compared at 2^-8, where the polynomial has reached 1 up to its error.
    assert np.abs(units / 2.0**12 - TANH.evaluate(x)).max() < 0.003
    assert np.abs(units / 2.0**12 - np.tanh(x)).max() < TANH.max_error + 0.002


def test_both_parties_compute_the_same_tanh() -> None:
    x = np.concatenate([RNG.uniform(-8, 8, 200), [0.0, 7.99, -7.99]])
    expected = run_clear(lambda ops, feed: tanh(ops, feed(x, 8.0)))[0]
    got = run_pair(lambda ops, feed: tanh(ops, feed(x, 8.0))).outputs[0]
    assert np.abs(expected - got).max() <= 8


def masked_scores(ops: Ops, scores: Secret, bits: np.ndarray) -> Secret:
    mask = ops.input(bits, bits.shape, 0, 1.0, 32)
    return masked(ops, scores, mask)


def test_masked_scores_fall_below_every_cutoff_and_others_stay() -> None:
    scores = RNG.uniform(-15.9, 15.9, (2, 3, 4, 5))  # (batch, heads, queries, keys)
    bits = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0]])
    (units,) = run_clear(lambda ops, feed: masked_scores(ops, feed(scores, 16.0), bits))
    got = units / 2.0**12
    there = np.broadcast_to(bits[:, None, None, :] == 1, scores.shape)
    assert np.abs(got - scores)[there].max() < 2.0**-12
    assert (got[~there] < -16.0 - 15.0).all()


def test_masks_cost_no_message() -> None:
    """The gap is added locally; what it costs is the wider ring of what follows, one `extend` here."""
    scores, bits = np.zeros((1, 2, 2)), np.array([1, 0])
    trace = run_trace(lambda ops, feed: masked_scores(ops, feed(scores, 16.0), bits))
    (window,) = [plan for _, plan in trace.windows]
    labels = {label for _, label, _ in window.events()}
    wide = run_trace(lambda ops, feed: ops.at(feed(scores, 16.0), 30))
    assert labels == {label for _, label, _ in wide.windows[0][1].events()}


def label_program(logits: np.ndarray):  # type: ignore[no-untyped-def]
    def program(ops: Ops, feed):  # type: ignore[no-untyped-def]
        return largest_class(ops, feed(logits, 16.0))

    return program


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 10])
def test_the_label_is_the_first_largest(classes: int) -> None:
    """Close scores, equal scores and negative ones."""
    logits = np.concatenate(
        [
            RNG.uniform(-15, 15, (20, classes)),
            np.round(RNG.uniform(-1, 1, (20, classes))),  # many ties
            np.zeros((1, classes)),
            -15.5 + RNG.integers(0, 2, (10, classes)) * 2.0**-12,
        ]
    )
    expected = (np.round(logits * 2.0**12)).argmax(axis=1)
    clear = run_clear(label_program(logits))[0]
    assert np.array_equal(class_of(clear, classes), expected)
    pair = run_pair(label_program(logits)).outputs[0]
    assert np.array_equal(class_of(pair, classes), expected)


def test_what_is_left_of_the_scores_is_the_label_alone() -> None:
    """Two rows of very different scores and the same label leave the same small integer."""
    logits = np.array([[0.25, 9.0, -3.0], [-0.5, -0.25, -15.0], [7.0, 7.25, 7.0]])
    left = run_clear(label_program(logits))[0]
    assert len(set(left.tolist())) == 1
    assert label_bits(3) == 2
    assert set(left.tolist()) <= set(range(-2, 2))
