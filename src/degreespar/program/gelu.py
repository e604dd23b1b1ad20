"""GeLU by segments: p(|x|) + x/2 between -B and B, ReLU outside; the order of p is an argument."""

from dataclasses import replace

from degreespar.degree import IntGrid
from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.numerics.gelu import GELU
from degreespar.program.polynomial import evaluate
from degreespar.program.units import ACTIVATION_FRAC, THRESHOLD_FRAC


def gelu_by_pattern(ops: Ops, x: Secret, orders: IntGrid, bound: float) -> Secret:
    """x (..., tokens, ffn_width); entry (token, dimension) is evaluated at orders[token, dimension].

    Entries of one order are gathered by public index, evaluated as one dense call, and put back.
    """
    ops.part("gelu")
    flat = layout.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))
    pieces = [
        (gelu(ops, layout.take(flat, index), order, bound), index)
        for order, index in orders.groups().items()
        if order > 0
    ]
    if not pieces:
        return ops.zeros(x.shape, like=x)
    return layout.reshape(layout.spread(pieces, flat.shape[-1]), x.shape)


def gelu(ops: Ops, x: Secret, order: int, bound: float) -> Secret:
    """GeLU of one order (1: ReLU) on all entries; |result| <= bound.

    Inside the edges the result is p(|x|) + x/2, right of them x, left of them 0. As the right part
    is "not left" minus "inside", it is [inside] * (p(|x|) - x/2) + [not left] * x.
    """
    if order == 1:
        return relu(ops, x, bound)
    edge = GELU[order].edge
    left, negative, not_right = ops.less_than(x, (-edge, 0.0, edge), THRESHOLD_FRAC)
    inside = ops.either(left, not_right)
    flipped, kept = ops.mask_all(x, (negative, ops.negate_bits(left)))
    curve = evaluate(ops, magnitude(ops, x, flipped, edge), GELU[order], bound=2 * edge)
    half = ops.rescale(ops.halve(x, 1), ACTIVATION_FRAC)
    bend = ops.subtract(ops.assume(curve, 2 * edge), ops.assume(half, 2 * edge), bound=2 * edge)
    bent = ops.mask(inside, bend, bound=2 * edge)
    return ops.assume(ops.add(bent, kept), bound)


def relu(ops: Ops, x: Secret, bound: float) -> Secret:
    """x where it is not negative."""
    (negative,) = ops.less_than(x, (0.0,), THRESHOLD_FRAC)
    return ops.assume(ops.mask(ops.negate_bits(negative), x), bound)


def magnitude(ops: Ops, x: Secret, flipped: Secret, edge: float) -> Secret:
    """|x| = x - 2 * (x where it is negative), where |x| <= edge.

    Garbage elsewhere: it is masked away, so the ring may be narrow.
    """
    near, flipped = ops.assume(x, edge), ops.assume(flipped, edge)
    twice = replace(flipped, frac_bits=flipped.frac_bits - 1, bound=2 * edge)
    return ops.subtract(near, twice, bound=edge)
