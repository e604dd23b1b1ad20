"""What the programs of pictures and of texts share: weights by name, attention among heads, masks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from degreespar.artifact import PublicPart, WeightEntry
from degreespar.degree import IntGrid, LayerPolicy
from degreespar.engine import layout
from degreespar.engine.backend import PrivateMatrix, PrivateTensor
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret
from degreespar.numerics import EXPONENTIAL
from degreespar.program.softmax import attend_with_class_row
from degreespar.program.units import ACTIVATION_FRAC, NARROW_MATRIX_BITS, SCORE_FACTOR_FRAC, factor_frac
from degreespar.program.vca import ClassRow

LOWEST_CUTOFF = min(entry.cutoff for entry in EXPONENTIAL.values())


@dataclass(frozen=True)
class Handles:
    """Names, shapes and units of the server's weights: all public."""

    public: PublicPart

    @cached_property
    def _entries(self) -> dict[str, WeightEntry]:
        return {entry.name: entry for entry in self.public.weights}

    def matrix(self, name: str) -> PrivateMatrix:
        """A handle of the weight matrix."""
        entry = self._entries[f"{name}.weight"]
        return PrivateMatrix(entry.name, entry.shape[0], entry.shape[1], entry.frac_bits)

    def tensor(self, name: str) -> PrivateTensor:
        """A handle of the private vector or table."""
        entry = self._entries[name]
        return PrivateTensor(entry.name, entry.shape, entry.frac_bits)

    def linear(self, ops: Ops, x: Secret, name: str, bound: float) -> Secret:
        """x @ weight + bias."""
        ops.part("linear")
        product = ops.linear(x, self.matrix(name), bound)
        return ops.add_private(product, self.tensor(f"{name}.bias"), bound)


def attention(
    ops: Ops, both: Secret, heads: int, policy: LayerPolicy, queries: int, mask: Secret | None = None
) -> tuple[Secret, ClassRow]:
    """What the first `queries` tokens gather, and how [CLS] does: (..., queries, width), a class row.

    `both` (..., tokens, 3 x width) holds queries (already over sqrt(head width)), keys and values side by
    side; `mask` (..., tokens) is 1 for a token and 0 for padding, whose keys get no weight.
    """
    bounds, width = policy.bounds, both.shape[-1] // 3
    thirds = (("query", bounds.query), ("key", bounds.key), ("value", bounds.value))
    query, key, value = (
        split_heads(columns(ops, both, slice(i * width, (i + 1) * width), name, bound), heads)
        for i, (name, bound) in enumerate(thirds)
    )
    query = layout.part(query, slice(0, queries), slice(None))
    ops.part("attention")
    frac = factor_frac(bounds.scores, SCORE_FACTOR_FRAC, NARROW_MATRIX_BITS)
    query, key = ops.rescale(query, frac), ops.rescale(key, frac)
    scores = ops.matmul(query, layout.swap(key, -1, -2), bounds.scores, ACTIVATION_FRAC)
    ops.observe("scores", scores)
    if mask is not None:
        scores = masked(ops, scores, mask)
    grid = first_rows(policy.squarings, queries)
    context, class_row = attend_with_class_row(ops, scores, value, grid, bounds.context)
    merged = layout.swap(ops.observe("context", context), -3, -2)
    return layout.reshape(merged, (*merged.shape[:-2], width)), class_row


def columns(ops: Ops, both: Secret, which: slice, name: str, bound: float) -> Secret:
    """Some columns of a linear layer, observed before the ring shrinks to their own bound."""
    return ops.assume(ops.observe(name, replace(layout.part(both, which), bound=bound)), bound)


def masked(ops: Ops, scores: Secret, mask: Secret) -> Secret:
    """Scores (..., heads, queries, keys), lowered by a public gap where mask (..., keys) is 0.

    The gap is a power of two, so that (mask - 1) * gap is local; it is wide enough that below the
    largest score of any token every masked one falls under the lowest cut-off, where an exponential is 0.
    What it costs is two or three bits more in the row maximum and in the comparison with the cut-off.
    """
    # Exact, as both parties must agree: 2^exponent is above the number.
    _, exponent = math.frexp(2 * scores.bound - LOWEST_CUTOFF + 1)
    gap = 2.0**exponent
    bits = required_bits(2 * (scores.bound + gap), scores.frac_bits)
    lowered = ops.add_public(
        ops.at_most(ops.refine(ops.halve(mask, -exponent), scores.frac_bits), bits), -gap, 2 * gap
    )
    return ops.add(ops.at(scores, bits), layout.part(lowered, None, None, slice(None)), scores.bound + gap)


def split_heads(x: Secret, heads: int) -> Secret:
    """(..., tokens, width) as (..., heads, tokens, head_width)."""
    split = layout.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads))
    return layout.swap(split, -3, -2)


def first_rows(grid: IntGrid, count: int) -> IntGrid:
    """The part of a grid that belongs to the first tokens."""
    return grid if count == grid.rows else IntGrid(grid.values[:count])
