"""Significance scores on the clear engine against double precision."""

import numpy as np
import pytest

from degreespar.degree import IntGrid, Selection
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ops import Ops
from degreespar.engine.ring import signed
from degreespar.engine.secret import Secret
from degreespar.numerics.exponential import EXPONENTIAL
from degreespar.program.norm import layer_norm_with_variance
from degreespar.program.selection import select_tokens
from degreespar.program.softmax import attend_with_class_row
from degreespar.program.vca import class_attention, significance
from tests.program.selection.oracle import kept

OPS = Ops(ClearBackend({}))
RNG = np.random.default_rng(4)


def secret(values: np.ndarray, bound: float, frac_bits: int = 12) -> Secret:
    return OPS.input(np.round(values * 2.0**frac_bits).astype(np.int64), values.shape, frac_bits, bound)


def plain(x: Secret) -> np.ndarray:
    return signed(x.payload, x.bits) / 2.0**x.frac_bits


def score(variance: np.ndarray, attention: np.ndarray, alpha: float) -> np.ndarray:
    """The definition, over the tokens other than [CLS]."""
    spread, paid = variance[..., 1:], attention[..., 1:]
    means = spread.mean(axis=-1, keepdims=True), paid.mean(axis=-1, keepdims=True)
    return alpha * spread / means[0] + (1 - alpha) * paid / means[1]


@pytest.mark.parametrize("heads", [1, 3, 6, 8])
def test_class_attention_is_the_softmax_row_but_for_a_common_factor(heads: int) -> None:
    scores, values = RNG.normal(size=(2, heads, 7, 7)) * 2, RNG.normal(size=(2, heads, 7, 4))
    _, row = attend_with_class_row(
        OPS, secret(scores, 16.0), secret(values, 8.0), IntGrid.uniform(7, 7, 5), 8.0
    )
    z = scores[:, :, 0] - scores[:, :, 0].max(axis=-1, keepdims=True)
    weights = EXPONENTIAL[5].evaluate(z)
    expected = (weights / weights.sum(axis=-1, keepdims=True)).mean(axis=1)
    got = plain(class_attention(OPS, row))
    assert 0.5 < got.sum(axis=-1).min() <= got.sum(axis=-1).max() < 1.0 + 2.0**-8
    assert np.abs(got / got.sum(axis=-1, keepdims=True) - expected).max() < 2e-3


@pytest.mark.parametrize("count", [1, 5, 49, 196, 700])
@pytest.mark.parametrize("alpha", [0.0, 0.12, 0.5, 0.93, 1.0])
@pytest.mark.parametrize(
    ("low", "high", "widest"), [(0.25, 1.0, 8.0), (2.0**-6, 2.0**-3, 0.5), (16.0, 100.0, 300.0)]
)
def test_scores_have_the_order_of_the_definition(
    count: int, alpha: float, low: float, high: float, widest: float
) -> None:
    variance = RNG.gamma(2.0, size=(3, count + 1))
    variance *= np.sqrt(low * high) / variance[:, 1:].mean(axis=-1, keepdims=True)
    variance = np.minimum(variance, widest)
    attention = RNG.gamma(1.0, size=(3, count + 1))
    attention /= attention.sum(axis=-1, keepdims=True)
    got = significance(OPS, secret(variance, widest, 16), secret(attention, 1.0, 20), alpha, (low, high))
    assert np.abs(plain(got)).max() < got.bound
    expected = score(variance, attention, alpha)
    for mine, wanted in zip(plain(got), expected, strict=True):
        order = np.argsort(-mine, kind="stable")
        # Where the order differs, the scores are as good as equal: 12 digits of a typical one.
        assert (np.diff(wanted[order]) < 2.0**-9 * max(1.0, wanted.max())).all()


def test_the_variance_is_that_of_the_norm() -> None:
    x = RNG.normal(size=(5, 16)) * RNG.uniform(0.3, 2.0, size=(5, 1))
    _, variance = layer_norm_with_variance(OPS, secret(x, 16.0), (2.0**-5, 2.0**4), 1e-3, 8.0)
    assert np.abs(plain(variance) - x.var(axis=-1) - 1e-3).max() < 2e-2


@pytest.mark.parametrize("ranges", [(4,), (2, 3), (9,), (3, 6)])
def test_the_class_token_stays_in_front_and_the_best_tokens_follow(ranges: tuple[int, ...]) -> None:
    x = RNG.normal(size=(2, 10, 6))
    scores, values = RNG.normal(size=(2, 4, 10, 10)) * 2, RNG.normal(size=(2, 4, 10, 3))
    _, row = attend_with_class_row(
        OPS, secret(scores, 16.0), secret(values, 8.0), IntGrid.uniform(10, 10, 4), 8.0
    )
    variance = RNG.uniform(0.5, 2.0, size=(2, 10))
    chosen = Selection(ranges, 0.6)
    got = plain(select_tokens(OPS, secret(x, 8.0), secret(variance, 4.0, 16), row, chosen, (0.25, 4.0)))
    assert got.shape == (2, chosen.kept_tokens, 6)
    z = scores[:, :, 0] - scores[:, :, 0].max(axis=-1, keepdims=True)
    weights = EXPONENTIAL[4].evaluate(z)
    paid = (weights / weights.sum(axis=-1, keepdims=True)).mean(axis=1)
    for item in range(2):
        order = [0, *(i + 1 for i in kept(list(score(variance, paid, 0.6)[item]), ranges))]
        np.testing.assert_allclose(got[item], x[item][order], atol=2**-12)
