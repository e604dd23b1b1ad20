"""Selection by counting: every token's rank in one layer of comparisons, then stable compaction.

The same functionality as `sorting.pi_prune`, a sixth of its exchanges and a fourteenth of its flips.
"""

from itertools import pairwise

import numpy as np

from degreespar.engine import layout
from degreespar.engine.layout import Index
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret, SecretBits
from degreespar.program.selection.networks import Control, compactor, layered, reaching


def select_by_rank(ops: Ops, score: Secret, x: Secret, ranges: tuple[int, ...]) -> Secret:
    """The rows of x (..., N, width) whose scores (..., N) are the greatest, in rank ranges.

    1. Ranks: how many tokens are more significant than each.
    2. Marks: for every range, one bit per token.
    3. Routing: for every range at once, its marked rows move to the front, in their order.
    """
    if score.shape[-1] == 1:
        return x
    rank = ranks(ops, score)  # step 1
    marks = _marks(ops, rank, ranges)  # step 2
    return compacted(ops, marks, x, ranges)  # step 3


def ranks(ops: Ops, score: Secret) -> Secret:
    """How many entries of the last axis are greater, or equal and before: 0 for the most significant.

    1. Compare every pair i < j: c_ij = [S_i < S_j], so that the lower of two equal ones wins.
    2. As numbers, rank_i = i + sum over j > i of c_ij - sum over j < i of c_ji.
    """
    size = score.shape[-1]
    wide = ops.at(score, required_bits(2 * score.bound, score.frac_bits))
    low, high = np.triu_indices(size, 1)
    below = ops.less(layout.take(wide, low), layout.take(wide, high))  # step 1
    number = ops.as_number(below, required_bits(size + 1, 0))
    negative = ops.subtract(ops.zeros(number.shape, like=number), number, bound=1.0)
    beaten = layout.spread([(number, low * size + high), (negative, high * size + low)], size * size)
    square = layout.reshape(beaten, (*score.shape, size))
    return ops.add_public(ops.sum(square, axis=-1, bound=size), np.arange(size, dtype=np.float64), size)


def _marks(ops: Ops, rank: Secret, ranges: tuple[int, ...]) -> SecretBits:
    """(..., ranges, N): whether the token's rank is in the range."""
    ends = [float(end) for end in np.cumsum(ranges)]
    within = ops.less_than(rank, ends, 0)
    inner = [ops.either(before, upto) for before, upto in pairwise(within)]
    return layout.stack_bits([within[0], *inner])


def compacted(ops: Ops, marks: SecretBits, x: Secret, sizes: tuple[int, ...]) -> Secret:
    """The rows of x that are marked, set after set: marks (..., sets, N) with public counts `sizes`.

    1. Count the marked before every place.
    2. Control bits of all exchanges from these counts, in one layer of comparisons.
    3. Exchange rows of one copy of x for every set, layer by layer; only what the front needs.
    """
    count, size = len(sizes), x.shape[-2]
    wiring = [reaching(compactor(size), kept) for kept in sizes]
    # Counts wrap in a ring of twice the largest block: only single bits of them are asked for.
    bits = max(size.bit_length(), required_bits(1.0, 0))
    counts = ops.running_sum(ops.as_number(marks, bits), bound=2.0 ** (bits - 2))  # step 1
    swaps = _control_bits(ops, counts, wiring)  # step 2
    pairs = [(r * size + c.first, r * size + c.second) for r, part in enumerate(wiring) for c in part]
    rows = layout.repeat(ops.at_most(x, required_bits(x.bound, x.frac_bits)), count, axis=-2)
    for layer in layered(pairs):  # step 3
        left, right = layout.take_rows(rows, layer.first), layout.take_rows(rows, layer.second)
        left, right = ops.swap_rows(layout.take_bits(swaps, layer.gates), left, right)
        rows = layout.put_rows(layout.put_rows(rows, layer.first, left), layer.second, right)
    fronts = [np.arange(r * size, r * size + kept) for r, kept in enumerate(sizes)]
    return layout.take_rows(rows, np.concatenate(fronts))


def _control_bits(ops: Ops, counts: Secret, wiring: list[list[Control]]) -> SecretBits:
    """Of all controls of all sets, in one axis."""
    places = counts.shape[-1]
    flat = layout.reshape(counts, (*counts.shape[:-2], counts.shape[-2] * places))
    controls = [control for part in wiring for control in part]
    middles = [r * places + c.middle for r, part in enumerate(wiring) for c in part]
    before = layout.take(flat, np.array(middles, dtype=np.int64))
    constants = np.array([control.constant for control in controls], dtype=np.float64)
    position: Index = np.array([control.bit for control in controls], dtype=np.int64)
    return ops.bit_at(ops.add_public(before, constants, bound=counts.bound), position)
