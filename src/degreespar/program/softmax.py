"""Softmax by squarings, normalised after the product with the values.

exp(z) ~ (1 + z / 2^n)^(2^n) for T_n <= z <= 0 and 0 below; the number of squarings n is an argument,
different for any two entries of one layer.
"""

import numpy as np

from degreespar.degree import IntGrid
from degreespar.engine import layout
from degreespar.engine.layout import Index
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret
from degreespar.numerics.exponential import EXPONENTIAL, OFF
from degreespar.program.units import (
    ACTIVATION_FRAC,
    PROBABILITY_FRAC,
    RECIPROCAL_FRAC,
    THRESHOLD_FRAC,
    exponential_frac,
)
from degreespar.program.vca import ClassRow

LEAST_ROW_SUM = 0.5
"""The row maximum adds exactly 1; fuzzy cut-offs at n = 0 can take a little away."""
ABOVE_ONE = 1.0 + 2.0**-10
"""A bound of powers, which reach 1."""


def attend(ops: Ops, scores: Secret, values: Secret, squarings: IntGrid, bound: float) -> Secret:
    """softmax(scores) @ values: scores (..., queries, keys), values (..., keys, head_width).

    The rows are scaled by 1/sum after the product: queries x head_width secret products instead of
    queries x keys, and the same result.
    """
    return attend_with_class_row(ops, scores, values, squarings, bound)[0]


def attend_with_class_row(
    ops: Ops, scores: Secret, values: Secret, squarings: IntGrid, bound: float
) -> tuple[Secret, ClassRow]:
    """The same, and the first query's weights, as selection scores tokens by them."""
    ops.part("softmax")
    keys = scores.shape[-1]
    weights = exponentials(ops, scores, squarings)
    # A row's mixture is its sum times its context, and each value times at most the number of keys.
    reach = keys * min(values.bound, bound)
    product_bits = required_bits(reach, PROBABILITY_FRAC + values.frac_bits)
    weights = ops.at(weights, max(product_bits, required_bits(keys * ABOVE_ONE, PROBABILITY_FRAC)))
    row_sums = ops.sum(weights, axis=-1, bound=keys * ABOVE_ONE)
    share = ops.reciprocal(row_sums, LEAST_ROW_SUM, keys, RECIPROCAL_FRAC)
    ops.part("attention")
    mixed = ops.matmul(weights, values, bound=reach, frac_bits=ACTIVATION_FRAC)
    ops.part("softmax")
    context = ops.multiply(mixed, layout.part(share, slice(None), None), bound, ACTIVATION_FRAC)
    return context, ClassRow(layout.part(weights, 0, slice(None)), layout.part(share, 0))


def exponentials(ops: Ops, scores: Secret, squarings: IntGrid) -> Secret:
    """exp(score - row maximum), entry (query, key) with squarings[query, key]; 0 where it is off."""
    largest = ops.maximum(_entries_in_play(scores, squarings))
    flat = layout.reshape(scores, (*scores.shape[:-2], scores.shape[-2] * scores.shape[-1]))
    # Gathered before anything is done to them: what is off costs nothing, not even a wider ring.
    on = {n: index for n, index in squarings.groups().items() if n != OFF}
    every = np.concatenate(list(on.values()))
    peaks = layout.take(largest, every // scores.shape[-1])
    shifted = ops.subtract(layout.take(flat, every), peaks, bound=2 * scores.bound)
    ends = np.cumsum([len(index) for index in on.values()])
    pieces = [
        (exponential(ops, layout.take(shifted, np.arange(end - len(index), end)), n), index)
        for (n, index), end in zip(on.items(), ends, strict=True)
    ]
    return layout.reshape(layout.spread(pieces, flat.shape[-1]), scores.shape)


def exponential(ops: Ops, z: Secret, squarings: int) -> Secret:
    """(1 + z / 2^n)^(2^n) for z <= 0, and 0 below the cut-off; units of 2^-PROBABILITY_FRAC.

    The cut comes first: from there on every value is within [-1, 1], and the rings stay narrow.
    """
    (cut,) = ops.less_than(z, (EXPONENTIAL[squarings].cutoff,), THRESHOLD_FRAC)
    near = ops.assume(ops.halve(z, squarings), 2.0)
    near = ops.rescale(near, min(near.frac_bits, exponential_frac(squarings)))
    base = ops.add_public(near, 1.0, bound=ABOVE_ONE)
    power = ops.mask(ops.negate_bits(cut), base, bound=ABOVE_ONE)
    for left in reversed(range(squarings)):
        power = ops.square(power, bound=ABOVE_ONE, frac_bits=exponential_frac(left))
    return ops.refine(power, PROBABILITY_FRAC)


def _entries_in_play(scores: Secret, squarings: IntGrid) -> Secret:
    """The entries of each row that are not off; short rows repeat one of theirs (the maximum stays)."""
    index = _index_in_play(squarings.values)
    if index is None:
        return scores
    flat = layout.reshape(scores, (*scores.shape[:-2], scores.shape[-2] * scores.shape[-1]))
    return layout.reshape(layout.take(flat, index.reshape(-1)), (*scores.shape[:-2], *index.shape))


def _index_in_play(grid: np.ndarray) -> Index | None:
    on = grid != OFF
    if on.all():
        return None
    rows = [np.flatnonzero(row) for row in on]
    width = max(len(row) for row in rows)
    padded = [np.resize(row, width) + start * grid.shape[1] for start, row in enumerate(rows)]
    return np.stack(padded).astype(np.int64)
