"""The paper's oblivious selection by bitonic sorting: its algorithms 1 to 4, under its names.

Two things go beyond the paper's text. Scores get the position as low digits, so that ties are decided (the
lower position wins) and exactly K tokens pass a threshold. And there is one threshold for every rank range:
c_i counts those that token i passes.
"""

from dataclasses import replace

import numpy as np

from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret, SecretBits
from degreespar.program.selection.networks import Layer, bitonic_sorter, layered


def pi_prune(ops: Ops, score: Secret, x: Secret, ranges: tuple[int, ...]) -> Secret:
    """Pi_Prune (algorithm 1): the rows of x (..., N, width) whose scores (..., N) are the greatest.

    In rank ranges of these public sizes, most significant first; inside a range rows keep their order.

    1. Threshold: sort the scores; tau_r is the least score of range r.
    2. Keys: c_i = how many tau_r token i reaches, k_i = N c_i + i.
    3. Routing: sort the rows by key.
    4. Truncation: the last K rows, range by range; public indices.
    """
    size = score.shape[-1]
    distinct = _with_positions(ops, score)
    ascending = pi_sort(ops, distinct)  # step 1
    ends = np.cumsum(ranges)
    thresholds = layout.take(ascending, size - ends)
    reached = [ops.negate_bits(_below(ops, distinct, thresholds, r)) for r in range(len(ranges))]  # step 2
    top = float((len(ranges) + 1) * size)
    # The ring of the keys' column from the start, so that nothing has to be widened.
    bits = max(required_bits(2 * top, 0), required_bits(x.bound, x.frac_bits))
    passed = ops.sum(ops.as_number(layout.stack_bits(reached), bits), axis=-2, bound=1.0)
    keys = ops.weighted_sum([(passed, float(size))], 0, 0.0, 0, bound=2.0 ** (bits - 2))
    keys = ops.add_public(keys, np.arange(size, dtype=np.float64), bound=keys.bound)
    rows = pi_sort_by_key(ops, replace(keys, bound=top), x)  # step 3
    starts = size - ends
    kept = [np.arange(start, start + length) for start, length in zip(starts, ranges, strict=True)]
    return layout.take_rows(rows, np.concatenate(kept))  # step 4


def pi_sort(ops: Ops, x: Secret) -> Secret:
    """Pi_Sort (algorithm 3): the last axis in ascending order."""
    rows = layout.reshape(ops.at(x, required_bits(2 * x.bound, x.frac_bits)), (*x.shape, 1))
    for layer in layered(bitonic_sorter(x.shape[-1])):
        left, right = layout.take_rows(rows, layer.first), layout.take_rows(rows, layer.second)
        swap = pi_cmp(ops, _column(right), _column(left))
        rows = _exchanged(ops, rows, layer, swap)
    return _column(rows)


def pi_sort_by_key(ops: Ops, keys: Secret, x: Secret) -> Secret:
    """Pi_SortByKey (algorithm 4): the rows of x (..., N, width) in ascending order of their keys (..., N).

    A key travels as one more column of its row, so that one exchange moves both.
    """
    key_bits = required_bits(2 * keys.bound, 0)
    bits = max(key_bits, required_bits(x.bound, x.frac_bits))
    # In the column only the ring counts; units are the payload's there.
    column = replace(ops.at(keys, bits), frac_bits=x.frac_bits, bound=x.bound)
    column = layout.reshape(column, (*keys.shape, 1))
    rows = layout.concatenate([column, ops.at(x, bits)], axis=-1)
    for layer in layered(bitonic_sorter(keys.shape[-1])):
        left, right = (
            ops.at_most(replace(_column(part), frac_bits=0, bound=keys.bound), key_bits)
            for part in (layout.take_rows(rows, layer.first), layout.take_rows(rows, layer.second))
        )
        rows = _exchanged(ops, rows, layer, pi_cmp(ops, right, left))
    return ops.at_most(layout.part(rows, slice(1, None)), required_bits(x.bound, x.frac_bits))


def pi_cmp(ops: Ops, x: Secret, y: Secret) -> SecretBits:
    """Pi_Cmp: [x < y]."""
    return ops.less(x, y)


def pi_oswap(ops: Ops, c: SecretBits, x: Secret, y: Secret) -> tuple[Secret, Secret]:
    """Pi_OSwap (algorithm 2): rows x and y, exchanged where c is 1.

    delta = x - y, mu = c * delta (the one interaction, for a whole row at once), x - mu and y + mu.
    """
    return ops.swap_rows(c, x, y)


def _exchanged(ops: Ops, rows: Secret, layer: Layer, swap: SecretBits) -> Secret:
    left, right = layout.take_rows(rows, layer.first), layout.take_rows(rows, layer.second)
    left, right = pi_oswap(ops, swap, left, right)
    return layout.put_rows(layout.put_rows(rows, layer.first, left), layer.second, right)


def _with_positions(ops: Ops, score: Secret) -> Secret:
    """score * 2^t + (N - 1 - position): distinct, and the lower of equal ones is the greater."""
    size = score.shape[-1]
    digits = (size - 1).bit_length()
    integers = replace(score, frac_bits=0, bound=score.bound * 2.0**score.frac_bits)
    bound = (integers.bound + 1) * 2.0**digits
    # Room for the digits and for differences, made once.
    wide = ops.at(integers, required_bits(2 * bound, 0) - digits)
    raised = replace(ops.refine(wide, digits), frac_bits=0)
    return ops.add_public(raised, np.arange(size, dtype=np.float64)[::-1], bound=bound)


def _below(ops: Ops, x: Secret, thresholds: Secret, number: int) -> SecretBits:
    """[x < threshold] for one of the thresholds (..., R)."""
    return pi_cmp(ops, x, layout.part(thresholds, slice(number, number + 1)))


def _column(rows: Secret) -> Secret:
    return layout.part(rows, 0)
