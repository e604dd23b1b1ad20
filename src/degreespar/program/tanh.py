"""tanh by segments: a polynomial of |x| with the sign of x between the edges, -1 and 1 outside."""

from dataclasses import replace

from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.numerics import TANH
from degreespar.program.gelu import magnitude
from degreespar.program.polynomial import evaluate
from degreespar.program.units import ACTIVATION_FRAC, THRESHOLD_FRAC

COMPLEMENT = replace(TANH, coefficients=(1.0, *(-c for c in TANH.coefficients[1:])))
"""1 - p: what is missing to 1, and 0 outside the edges."""
BOUND = 2.0
"""|tanh| reaches 1, and its polynomial a little more."""


def tanh(ops: Ops, x: Secret) -> Secret:
    """tanh of every entry; |result| <= 2 as a bound, about 1 in truth."""
    ops.part("tanh")
    left, negative, not_right = ops.less_than(x, (-TANH.edge, 0.0, TANH.edge), THRESHOLD_FRAC)
    inside = ops.either(left, not_right)
    flipped = ops.mask(negative, ops.assume(x, TANH.edge))
    missing = evaluate(ops, magnitude(ops, x, flipped, TANH.edge), COMPLEMENT, BOUND)
    missing = ops.mask(inside, missing)
    one = ops.add_public(ops.zeros(missing.shape, like=missing), 1.0, BOUND)
    size = ops.subtract(one, missing, BOUND)
    flipped = ops.mask(negative, size)
    twice = replace(flipped, frac_bits=flipped.frac_bits - 1, bound=2 * BOUND)
    return ops.rescale(ops.subtract(size, twice, BOUND), ACTIVATION_FRAC)
