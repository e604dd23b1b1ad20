"""Layer norm without its affine part (that is folded into the next linear layer at export)."""

import math

from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret
from degreespar.program.units import (
    ACTIVATION_FRAC,
    DEVIATION_FRAC,
    NARROW_FACTOR_BITS,
    VARIANCE_FACTOR_FRAC,
    VARIANCE_FRAC,
    VARIANCE_SUM_FRAC,
)


def layer_norm(
    ops: Ops, x: Secret, variance: tuple[float, float], epsilon: float, bound: float, name: str = "norm"
) -> Secret:
    """(x - mean) / sqrt(variance + epsilon) over the last axis; `variance` is the root's public range.

    `name` is that of its observed points.
    """
    return _norm(ops, x, variance, epsilon, bound, name)[0]


def layer_norm_with_variance(
    ops: Ops, x: Secret, variance: tuple[float, float], epsilon: float, bound: float, name: str = "norm"
) -> tuple[Secret, Secret]:
    """The same, and variance + epsilon of every row."""
    normed, spread = _norm(ops, x, variance, epsilon, bound, name)
    factor = _ratio(x.shape[-1]) ** -3
    if factor == 1.0:
        return normed, spread
    scaled = ops.scale(spread, factor, VARIANCE_FACTOR_FRAC, VARIANCE_SUM_FRAC)
    return normed, ops.assume(scaled, variance[1])


def _norm(
    ops: Ops, x: Secret, variance: tuple[float, float], epsilon: float, bound: float, name: str
) -> tuple[Secret, Secret]:
    """The norm, and r^3 * (variance + epsilon).

    width * x - sum(x) is exact and local in a ring that is wide enough, and x is extended once, into the
    widest that any later step needs. The norm does not care for scales: with 2^k >= width everything is
    computed on r * (x - mean), r = width / 2^k, whose variance is r^2 of x's; dividing the sum of squares
    by 2^k makes it r^3, and the missing root of r goes into the pieces of the reciprocal root.
    """
    ops.part("norm")
    width, ratio = x.shape[-1], _ratio(x.shape[-1])
    low, high = (end * ratio**3 for end in variance)
    deviation = _deviation(ops, x, required_bits(bound, ACTIVATION_FRAC + DEVIATION_FRAC))
    frac = _factor_frac(deviation.bound)
    total = width * variance[1] * ratio**2
    squares = ops.square(ops.rescale(deviation, frac), bound=total, frac_bits=2 * frac)
    spread = ops.halve(ops.sum(squares, axis=-1, bound=total), _doublings(width))
    spread = ops.rescale(spread, min(VARIANCE_SUM_FRAC, spread.frac_bits))
    spread = ops.add_public(spread, epsilon * ratio**3, bound=high)
    ops.observe(f"{name}_variance", spread, low)
    inverse = ops.reciprocal_root(spread, low, high, DEVIATION_FRAC, gain=math.sqrt(ratio))
    normed = ops.multiply(deviation, layout.part(inverse, slice(None), None), bound, ACTIVATION_FRAC)
    return ops.observe(f"{name}_normed", normed), spread


def _deviation(ops: Ops, x: Secret, bits: int) -> Secret:
    """r * (x - mean) in at least the ring of `bits`."""
    width = x.shape[-1]
    bound = 2 * x.bound * _ratio(width)
    wide = ops.at_least(x, max(bits, required_bits(bound, x.frac_bits)) + _doublings(width))
    exact = ops.less_mean(wide, bound=width * 2 * x.bound)
    return ops.rescale(ops.halve(exact, _doublings(width)), x.frac_bits)


def _doublings(width: int) -> int:
    """The k with 2^k the least power of two that is not below the width."""
    return (width - 1).bit_length()


def _ratio(width: int) -> float:
    """r, above 1/2 and at most 1."""
    return width / 2.0 ** _doublings(width)


def _factor_frac(bound: float) -> int:
    """Fraction bits of a deviation before it is squared: the most that cheap squares take."""
    fitting = [frac for frac in VARIANCE_FRAC if required_bits(bound, frac) <= NARROW_FACTOR_BITS]
    return max(fitting, default=VARIANCE_FRAC[0])
