"""Softmax by squarings, normalised after the product with the values.

exp(z) ~ (1 + z / 2^n)^(2^n) for T_n <= z <= 0 and 0 below; the number of squarings n is an argument,
different for any two entries of one layer.
"""

from dataclasses import replace

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
    MAXIMUM_BITS,
    MAXIMUM_FRAC,
    PROBABILITY_FRAC,
    RECIPROCAL_FRAC,
    THRESHOLD_FRAC,
    exponential_frac,
)
from degreespar.program.vca import ClassRow

LEAST_ROW_SUM = 0.5
"""The largest entry adds almost 1; fuzzy cut-offs at n = 0 can take a little away."""
BELOW_ONE = 1.0
"""A bound that powers do not reach."""
HALF_OF_POWERS = 0.5
"""Powers that are not negative: [0, twice this bound), one half of a ring that is a bit narrower."""
LEAST_DISTANCE = 2.0**-9
"""Every shifted score is at least so far below zero, so that no power reaches 1 whatever is rounded."""


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
    weight_bits = max(product_bits, required_bits(keys, PROBABILITY_FRAC))
    weights, values = ops.at_all([(weights, weight_bits), (values, product_bits)])
    row_sums = ops.sum(weights, axis=-1, bound=keys)
    share = ops.reciprocal(row_sums, LEAST_ROW_SUM, keys, RECIPROCAL_FRAC)
    ops.part("attention")
    mixed = ops.matmul(weights, values, bound=reach, frac_bits=ACTIVATION_FRAC)
    ops.part("softmax")
    context = ops.multiply(mixed, layout.part(share, slice(None), None), bound, ACTIVATION_FRAC)
    return context, ClassRow(layout.part(weights, 0, slice(None)), layout.part(share, 0))


def exponentials(ops: Ops, scores: Secret, squarings: IntGrid) -> Secret:
    """exp(score - row maximum) below 1, entry (query, key) with squarings[query, key]; 0 where it is off.

    The maximum is taken among rounded scores and lifted by what they are rounded by: it is a little too
    high, by the same for all entries of a row, and the normalisation cancels that.
    """
    exponent = required_bits(scores.bound, 0)
    rough = ops.rescale(scores, max(min(MAXIMUM_FRAC, scores.frac_bits, MAXIMUM_BITS - exponent), 0))
    unit = 2.0**-rough.frac_bits
    largest = ops.maximum(_entries_in_play(rough, squarings))
    ceiling = ops.add_public(largest, unit + max(LEAST_DISTANCE, unit), bound=scores.bound)
    flat = layout.reshape(scores, (*scores.shape[:-2], scores.shape[-2] * scores.shape[-1]))
    # Gathered before anything is done to them: what is off costs nothing.
    on = {n: index for n, index in squarings.groups().items() if n != OFF}
    every = np.concatenate(list(on.values()))
    peaks = layout.take(ceiling, every // scores.shape[-1])
    # The differences fill their ring: all are in (-2 * bound, 0), which `exponential` moves to the middle.
    shifted = ops.subtract(layout.take(flat, every), peaks, bound=scores.bound)
    shifted = replace(shifted, bound=2 * scores.bound)
    ends = np.cumsum([len(index) for index in on.values()])
    pieces = [
        (exponential(ops, layout.take(shifted, np.arange(end - len(index), end)), n), index)
        for (n, index), end in zip(on.items(), ends, strict=True)
    ]
    return layout.reshape(layout.spread(pieces, flat.shape[-1]), scores.shape)


def exponential(ops: Ops, z: Secret, squarings: int) -> Secret:
    """(1 + z / 2^n)^(2^n) for -z.bound < z <= -LEAST_DISTANCE, and 0 below the cut-off; below 1.

    The cut comes first: from there on every value is within (-1, 1), and the rings stay narrow. Units of
    2^-PROBABILITY_FRAC.
    """
    half, table = z.bound / 2, EXPONENTIAL[squarings]
    middle = ops.add_public(replace(z, bound=half), half, bound=half)
    (cut,) = ops.less_than(middle, (table.cutoff + half,), THRESHOLD_FRAC)
    near = ops.halve(z, squarings)
    near = ops.rescale(near, min(near.frac_bits, exponential_frac(squarings)))
    least = table.cutoff / 2.0**squarings - 2.0**-THRESHOLD_FRAC
    # Up to n = 3 the power begins below zero; later ones have one half of the ring to themselves.
    bound = BELOW_ONE if least <= -1.0 else HALF_OF_POWERS
    near = ops.at(replace(near, bound=-least), required_bits(bound, near.frac_bits))
    base = ops.add_public(replace(near, bound=bound), 1.0, bound=bound)
    power = ops.mask(ops.negate_bits(cut), base)
    for left in reversed(range(squarings)):
        bound = HALF_OF_POWERS if left else BELOW_ONE
        nonnegative = power.bound == HALF_OF_POWERS
        power = ops.square(power, bound, exponential_frac(left), nonnegative)
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
