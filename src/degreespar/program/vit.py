"""The secure Vision Transformer, written once for every engine.

Pre-norm blocks as in Hugging Face's ViT. Scales and affine norms are folded into the weights at
export (docs/spec/artifact.md), so that a block is norm, linear, attention, linear, norm, linear,
GeLU, linear; where the policy selects, tokens are routed after the attention's residual. Of the last
block only the [CLS] row is computed: nothing else reaches the answer.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from degreespar.artifact import PublicPart, VitGeometry, WeightEntry
from degreespar.degree import IntGrid, LayerPolicy
from degreespar.engine import layout
from degreespar.engine.backend import PrivateMatrix, PrivateTensor
from degreespar.engine.ops import Ops, linear_bits
from degreespar.engine.ring import Integers
from degreespar.engine.secret import Secret
from degreespar.program.gelu import gelu_by_pattern
from degreespar.program.norm import layer_norm, layer_norm_with_variance
from degreespar.program.selection import select_tokens
from degreespar.program.softmax import attend_with_class_row
from degreespar.program.units import (
    ACTIVATION_FRAC,
    INPUT_FRAC,
    NARROW_MATRIX_BITS,
    SCORE_FACTOR_FRAC,
    factor_frac,
)
from degreespar.program.vca import ClassRow

INPUT_BOUND = 16.0
"""|normalised pixel|: a client refuses a picture beyond it."""


def _first_rows(grid: IntGrid, count: int) -> IntGrid:
    return grid if count == grid.rows else IntGrid(grid.values[:count])


@dataclass(frozen=True)
class VitProgram:
    """Geometry, policy and the names, shapes and units of the server's weights: all public."""

    public: PublicPart

    @cached_property
    def _entries(self) -> dict[str, WeightEntry]:
        return {entry.name: entry for entry in self.public.weights}

    @property
    def geometry(self) -> VitGeometry:
        """The model's shape."""
        return self.public.geometry

    def matrix(self, name: str) -> PrivateMatrix:
        """A handle of the weight matrix."""
        entry = self._entries[f"{name}.weight"]
        return PrivateMatrix(entry.name, entry.shape[0], entry.shape[1], entry.frac_bits)

    def tensor(self, name: str) -> PrivateTensor:
        """A handle of the private vector or table."""
        entry = self._entries[name]
        return PrivateTensor(entry.name, entry.shape, entry.frac_bits)

    def logits(self, ops: Ops, patches: Integers | None, batch: tuple[int, ...] = ()) -> Secret:
        """Class scores (*batch, classes) of the client's patches (*batch, patches, patch_values)."""
        with ops.window("embedding"):
            x = self._embed(ops, patches, batch)
        last = len(self.public.policy.layers) - 1
        for number, policy in enumerate(self.public.policy.layers):
            with ops.window(f"layer {number + 1}"):
                x = self._block(ops, x, number, policy, queries=1 if number == last else x.shape[-2])
        with ops.window("head"):
            return self._head(ops, x)

    def _embed(self, ops: Ops, patches: Integers | None, batch: tuple[int, ...]) -> Secret:
        geometry, bound = self.geometry, self.public.policy.layers[0].bounds.input
        matrix = self.matrix("patch")
        shape = (*batch, geometry.patches, geometry.patch_values)
        bits = linear_bits(INPUT_FRAC, matrix, bound)
        ops.part("linear")
        pixels = ops.input(patches, shape, INPUT_FRAC, INPUT_BOUND, bits)
        embedded = ops.linear(pixels, matrix, bound)
        class_row = ops.zeros((*batch, 1, geometry.width), like=embedded)
        rows = layout.concatenate([class_row, embedded], axis=-2)
        return ops.observe("input", ops.add_private(rows, self.tensor("embedding.bias"), bound))

    def _block(self, ops: Ops, x: Secret, number: int, policy: LayerPolicy, queries: int) -> Secret:
        bounds, prefix = policy.bounds, f"layers.{number}"
        epsilon = self.geometry.layer_norm_eps
        normed, variance = layer_norm_with_variance(
            ops, x, bounds.attention_variance, epsilon, bounds.attention_normed, "attention"
        )
        context, class_row = self._attention(ops, normed, prefix, policy, queries)
        x = layout.part(x, slice(0, queries), slice(None))
        mixed = self._linear(ops, context, f"{prefix}.projection", x.bound + bounds.middle)
        x = ops.observe("middle", ops.add(x, mixed, bound=bounds.middle))
        if policy.selection is not None:
            x = select_tokens(ops, x, variance, class_row, policy.selection, bounds.score_variance)
        normed = layer_norm(ops, x, bounds.ffn_variance, epsilon, bounds.ffn_normed, "ffn")
        hidden = ops.observe("hidden", self._linear(ops, normed, f"{prefix}.expand", bounds.hidden))
        orders = _first_rows(policy.gelu_orders, x.shape[-2])
        activated = ops.observe("activated", gelu_by_pattern(ops, hidden, orders, bounds.activated))
        update = self._linear(ops, activated, f"{prefix}.contract", x.bound + bounds.output)
        return ops.observe("output", ops.add(x, update, bound=bounds.output))

    def _attention(
        self, ops: Ops, normed: Secret, prefix: str, policy: LayerPolicy, queries: int
    ) -> tuple[Secret, ClassRow]:
        bounds, width = policy.bounds, self.geometry.width
        widest = max(bounds.query, bounds.key, bounds.value)
        both = self._linear(ops, normed, f"{prefix}.query_key_value", widest)
        query, key, value = (
            self._heads(self._third(ops, both, number, name, bound))
            for number, (name, bound) in enumerate(
                (("query", bounds.query), ("key", bounds.key), ("value", bounds.value))
            )
        )
        query = layout.part(query, slice(0, queries), slice(None))
        ops.part("attention")
        frac = factor_frac(bounds.scores, SCORE_FACTOR_FRAC, NARROW_MATRIX_BITS)
        query, key = ops.rescale(query, frac), ops.rescale(key, frac)
        scores = ops.matmul(query, layout.swap(key, -1, -2), bounds.scores, ACTIVATION_FRAC)
        ops.observe("scores", scores)
        grid = _first_rows(policy.squarings, queries)
        context, class_row = attend_with_class_row(ops, scores, value, grid, bounds.context)
        merged = layout.swap(ops.observe("context", context), -3, -2)
        return layout.reshape(merged, (*merged.shape[:-2], width)), class_row

    def _third(self, ops: Ops, both: Secret, number: int, name: str, bound: float) -> Secret:
        """Queries, keys or values, observed before the ring shrinks to their own bound."""
        width = self.geometry.width
        third = layout.part(both, slice(number * width, (number + 1) * width))
        return ops.assume(ops.observe(name, replace(third, bound=bound)), bound)

    def _heads(self, x: Secret) -> Secret:
        """(..., tokens, width) as (..., heads, tokens, head_width)."""
        geometry = self.geometry
        split = layout.reshape(x, (*x.shape[:-1], geometry.heads, geometry.head_width))
        return layout.swap(split, -3, -2)

    def _linear(self, ops: Ops, x: Secret, name: str, bound: float) -> Secret:
        ops.part("linear")
        product = ops.linear(x, self.matrix(name), bound)
        return ops.add_private(product, self.tensor(f"{name}.bias"), bound)

    def _head(self, ops: Ops, x: Secret) -> Secret:
        bounds, epsilon = self.public.policy.bounds, self.geometry.layer_norm_eps
        normed = layer_norm(ops, x, bounds.final_variance, epsilon, bounds.final_normed, "final")
        logits = ops.observe("logits", self._linear(ops, normed, "head", bounds.logits))
        return layout.reshape(logits, (*logits.shape[:-2], self.geometry.classes))
