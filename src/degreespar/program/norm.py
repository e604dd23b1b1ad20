"""Layer norm without its affine part (that is folded into the next linear layer at export)."""

from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.program.units import (
    ACTIVATION_FRAC,
    DEVIATION_FRAC,
    MEAN_FACTOR_FRAC,
    NARROW_SQUARE_BITS,
    VARIANCE_FRAC,
    VARIANCE_SUM_FRAC,
    factor_frac,
)


def layer_norm(
    ops: Ops, x: Secret, variance: tuple[float, float], epsilon: float, bound: float, name: str = "norm"
) -> Secret:
    """(x - mean) / sqrt(variance + epsilon) over the last axis; `variance` is the root's public range."""
    return layer_norm_with_variance(ops, x, variance, epsilon, bound, name)[0]


def layer_norm_with_variance(
    ops: Ops, x: Secret, variance: tuple[float, float], epsilon: float, bound: float, name: str = "norm"
) -> tuple[Secret, Secret]:
    """The same, and variance + epsilon of every row; `name` is that of its observed points."""
    ops.part("norm")
    width = x.shape[-1]
    low, high = variance
    total = ops.sum(x, axis=-1, bound=width * x.bound)
    mean = ops.scale(total, 1 / width, MEAN_FACTOR_FRAC, ACTIVATION_FRAC)
    deviation = ops.subtract(x, layout.part(mean, slice(None), None), bound=2 * x.bound)
    frac = factor_frac(width * high, VARIANCE_FRAC, NARROW_SQUARE_BITS)
    squares = ops.square(ops.rescale(deviation, frac), bound=width * high, frac_bits=2 * frac)
    spread = ops.scale(
        ops.sum(squares, axis=-1, bound=width * high), 1 / width, MEAN_FACTOR_FRAC, VARIANCE_SUM_FRAC
    )
    spread = ops.add_public(spread, epsilon, bound=high)
    ops.observe(f"{name}_variance", spread, low)
    inverse = ops.reciprocal_root(spread, low, high, DEVIATION_FRAC)
    normed = ops.multiply(deviation, layout.part(inverse, slice(None), None), bound, ACTIVATION_FRAC)
    return ops.observe(f"{name}_normed", normed), spread
