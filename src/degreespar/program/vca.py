"""How significant a token is: its variance at the layer's norm and what [CLS] pays of attention to it.

score_i = alpha * V_i / mean(V) + (1 - alpha) * A_i / mean(A), all of it secret. Only its order matters, so
it is multiplied by sum(V) * sum(A) / N > 0, and no reciprocal is taken:
alpha * V_i * sum(A) + (1 - alpha) * A_i * sum(V).
"""

import math
from dataclasses import dataclass, replace

from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret
from degreespar.program.units import (
    ATTENTION_FRAC,
    MIX_FRAC,
    SCORE_DIGITS,
    SCORE_SUM_FRAC,
    SIGNIFICANCE_FRAC,
    VARIANCE_SUM_FRAC,
)

ABOVE_ALL = 1.0 + 2.0**-4
"""A bound of what [CLS] pays to all tokens together, which is 1 but for the reciprocals' rounding."""


@dataclass(frozen=True)
class ClassRow:
    """The attention of [CLS] not yet normalised: weights (..., heads, keys), 1 / row sum (..., heads)."""

    weights: Secret
    share: Secret


def class_attention(ops: Ops, row: ClassRow) -> Secret:
    """What [CLS] pays to every token: (..., keys), averaged over heads but for a power of two below 2.

    A factor that all tokens share changes no order of scores: the sum over heads is only moved below 1.
    """
    heads = row.share.shape[-1]
    share = layout.part(row.share, slice(None), None)
    paid = ops.multiply(row.weights, share, heads * ABOVE_ALL, ATTENTION_FRAC)
    return ops.halve(ops.sum(paid, axis=-2, bound=heads * ABOVE_ALL), (heads - 1).bit_length())


def significance(
    ops: Ops, variance: Secret, attention: Secret, alpha: float, mean_variance: tuple[float, float]
) -> Secret:
    """Scores (..., N) in the order of the VCA score, from both (..., 1 + N) with [CLS] in front.

    mean(V) over the tokens other than [CLS] lies in the public range `mean_variance`.
    1. Both as fractions of one, side by side, widened once for all that follows.
    2. sum(A) and sum(V), weighed by alpha and 1 - alpha.
    3. Every token's V and A times the other's sum: one step. Their sum is the score.
    """
    count = variance.shape[-1] - 1
    power = math.ceil(math.log2(variance.bound))  # V / 2^power is at most 1
    frac = min(max(VARIANCE_SUM_FRAC + power, SIGNIFICANCE_FRAC[0]), SIGNIFICANCE_FRAC[-1])
    both = layout.concatenate(  # step 1
        [_fraction(ops, ops.halve(variance, power), frac), _fraction(ops, attention, frac)], axis=-2
    )
    low, high = (end / 2.0**power for end in mean_variance)
    bound = alpha * ABOVE_ALL + (1 - alpha) * count * high * ABOVE_ALL
    product_bits = required_bits(bound, frac + SCORE_SUM_FRAC)
    wide = ops.at(both, product_bits + frac + MIX_FRAC - SCORE_SUM_FRAC)
    sums = ops.sum(wide, axis=-1, bound=count * ABOVE_ALL)  # step 2
    total = replace(layout.part(sums, slice(0, 1)), bound=count * high)
    ops.observe("score_variance", total, count * low)
    factors = [
        _weighed(ops, layout.part(sums, slice(other, other + 1)), weight)
        for other, weight in ((1, alpha), (0, 1 - alpha))
    ]
    factor = layout.part(layout.concatenate(factors, axis=-1), slice(None), None)
    # Of a score as small as `low` makes it, so many binary digits count.
    score_frac = min(SCORE_DIGITS + math.ceil(-math.log2(low)), frac + SCORE_SUM_FRAC)
    terms = ops.multiply(wide, factor, bound, max(score_frac, 0))  # step 3
    return ops.sum(terms, axis=-2, bound=bound)


def _fraction(ops: Ops, x: Secret, frac_bits: int) -> Secret:
    """(..., 1 + N), at most 1, without [CLS], in these units, as (..., 1, N)."""
    x = replace(layout.part(x, None, slice(1, None)), bound=ABOVE_ALL)
    x = ops.rescale(x, frac_bits) if x.frac_bits > frac_bits else ops.refine(x, frac_bits)
    return ops.at_most(x, required_bits(ABOVE_ALL, frac_bits))


def _weighed(ops: Ops, total: Secret, weight: float) -> Secret:
    """total * weight in units of 2^-SCORE_SUM_FRAC; the ring only loses what rounding takes."""
    widest = 2.0 ** (total.bits - 2 - total.frac_bits - MIX_FRAC)
    product = ops.weighted_sum([(total, weight)], MIX_FRAC, 0.0, SCORE_SUM_FRAC, widest)
    return replace(product, bound=max(total.bound * weight, 2.0**-SCORE_SUM_FRAC))
