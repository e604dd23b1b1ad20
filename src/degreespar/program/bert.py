"""The secure BERT for sequence classification, written once for every engine.

Post-norm blocks as in Hugging Face's BERT. A norm's scale and shift reach both the next linear layer and
the residual stream, so each of these linear layers has `width` columns more, which give the stream: a
diagonal of scales that the server keeps to itself. What passes between the blocks is the norm's value
before scale and shift. Of the last block only the [CLS] row is computed.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from degreespar.artifact import BertGeometry, PublicPart
from degreespar.degree import LayerPolicy, TextBounds
from degreespar.engine import layout
from degreespar.engine.ops import Ops, linear_bits
from degreespar.engine.ring import Integers
from degreespar.engine.secret import Secret
from degreespar.program.block import Handles, attention, columns, first_rows
from degreespar.program.gelu import gelu_by_pattern
from degreespar.program.norm import layer_norm, layer_norm_with_variance
from degreespar.program.selection import select_tokens
from degreespar.program.tanh import tanh
from degreespar.program.units import INPUT_FRAC
from degreespar.program.vca import ClassRow

MASK_BITS = 32
"""The client shares its mask in any ring for free; it is narrowed to what each use needs."""
ONE_HOT_BOUND = 2.0
"""A row names one word and one segment, each by a 1 in a column of its own."""


@dataclass(frozen=True)
class BertProgram:
    """Geometry, policy and the names, shapes and units of the server's weights, for one length class."""

    public: PublicPart

    @property
    def geometry(self) -> BertGeometry:
        """The model's shape."""
        return self.public.texts

    @property
    def bounds(self) -> TextBounds:
        """Those before the first and after the last layer."""
        bounds = self.public.policy.bounds
        if not isinstance(bounds, TextBounds):
            raise TypeError("a policy for pictures in a model of texts")  # the artifact was checked
        return bounds

    @cached_property
    def handles(self) -> Handles:
        """The server's weights, by name."""
        return Handles(self.public)

    @property
    def row_values(self) -> int:
        """How many numbers the client brings for a token, its mask apart."""
        geometry = self.geometry
        return geometry.width if geometry.has_public_table else geometry.table_rows

    def logits(self, ops: Ops, rows: Integers | None, batch: tuple[int, ...] = ()) -> Secret:
        """Class scores (*batch, classes) of the client's rows (*batch, tokens, row_values + 1).

        The last number of a row is its mask, 1 for a token and 0 for padding; the others are the row of
        the public table, or the one-hot row that the private one is multiplied by.
        """
        with ops.window("embedding"):
            mask = self._mask(ops, rows, batch)
            x = self._embed(ops, rows, batch)
        last = len(self.public.policy.layers) - 1
        for number, policy in enumerate(self.public.policy.layers):
            with ops.window(f"layer {number + 1}"):
                queries = 1 if number == last else x.shape[-2]
                x, mask = self._block(ops, x, mask, number, policy, queries)
        with ops.window("head"):
            return self._head(ops, x)

    def _mask(self, ops: Ops, rows: Integers | None, batch: tuple[int, ...]) -> Secret:
        bits = None if rows is None else rows[..., -1]
        return ops.input(bits, (*batch, self.geometry.tokens), 0, 1.0, MASK_BITS)

    def _embed(self, ops: Ops, rows: Integers | None, batch: tuple[int, ...]) -> Secret:
        geometry, bounds = self.geometry, self.bounds
        values = None if rows is None else rows[..., :-1]
        shape = (*batch, geometry.tokens, self.row_values)
        ops.part("linear")
        if geometry.has_public_table:
            x = ops.input(values, shape, INPUT_FRAC, bounds.embedding)
        else:
            table = self.handles.matrix("table")
            bits = linear_bits(INPUT_FRAC, table, bounds.embedding)
            x = ops.linear(ops.input(values, shape, INPUT_FRAC, ONE_HOT_BOUND, bits), table, bounds.embedding)
        positions = self.handles.tensor("embedding.bias")
        x = ops.add_private(x, positions, bounds.embedding, first_rows=geometry.tokens)
        ops.observe("embedding", x)
        return layer_norm(ops, x, bounds.embedding_variance, geometry.layer_norm_eps, bounds.embedding_normed)

    def _block(
        self, ops: Ops, x: Secret, mask: Secret, number: int, policy: LayerPolicy, queries: int
    ) -> tuple[Secret, Secret]:
        """From one norm's value to the next but one's, and the mask of the tokens that go on."""
        bounds, prefix, width = policy.bounds, f"layers.{number}", self.geometry.width
        epsilon = self.geometry.layer_norm_eps
        widest = max(bounds.query, bounds.key, bounds.value, bounds.input)
        both = self.handles.linear(ops, x, f"{prefix}.query_key_value", widest)
        stream = columns(ops, both, slice(3 * width, None), "input", bounds.input)
        stream = layout.part(stream, slice(0, queries), slice(None))
        projected = layout.part(both, slice(0, 3 * width))
        context, class_row = attention(ops, projected, self.geometry.heads, policy, queries, mask)
        mixed = self.handles.linear(ops, context, f"{prefix}.projection", bounds.input + bounds.middle)
        middle = ops.observe("middle", ops.add(stream, mixed, bound=bounds.middle))
        normed, variance = layer_norm_with_variance(
            ops, middle, bounds.attention_variance, epsilon, bounds.attention_normed, "attention"
        )
        if policy.selection is not None:
            normed, mask = self._select(ops, normed, mask, variance, class_row, policy)
        return self._feed_forward(ops, normed, number, policy), mask

    def _select(
        self, ops: Ops, x: Secret, mask: Secret, variance: Secret, class_row: ClassRow, policy: LayerPolicy
    ) -> tuple[Secret, Secret]:
        """The tokens that go on with their mask, which is one column more of what is routed.

        Padding is scored with a variance of 0, and has no attention: it is the first to go.
        """
        if policy.selection is None:
            return x, mask
        there = ops.multiply(variance, mask, variance.bound, variance.frac_bits)
        column = ops.refine(layout.reshape(mask, (*mask.shape, 1)), x.frac_bits)
        payload = layout.concatenate([x, column], axis=-1)
        routed = select_tokens(ops, payload, there, class_row, policy.selection, policy.bounds.score_variance)
        width = x.shape[-1]
        kept_mask = replace(layout.part(routed, width), bound=1.0)
        return replace(layout.part(routed, slice(0, width)), bound=x.bound), kept_mask

    def _feed_forward(self, ops: Ops, normed: Secret, number: int, policy: LayerPolicy) -> Secret:
        bounds, prefix = policy.bounds, f"layers.{number}"
        ffn_width, epsilon = self.geometry.ffn_widths[number], self.geometry.layer_norm_eps
        both = self.handles.linear(ops, normed, f"{prefix}.expand", max(bounds.hidden, bounds.middle))
        hidden = columns(ops, both, slice(0, ffn_width), "hidden", bounds.hidden)
        stream = columns(ops, both, slice(ffn_width, None), "middle", bounds.middle)
        orders = first_rows(policy.gelu_orders, normed.shape[-2])
        activated = ops.observe("activated", gelu_by_pattern(ops, hidden, orders, bounds.activated))
        update = self.handles.linear(ops, activated, f"{prefix}.contract", bounds.middle + bounds.output)
        output = ops.observe("output", ops.add(stream, update, bound=bounds.output))
        return layer_norm(ops, output, bounds.ffn_variance, epsilon, bounds.ffn_normed, "ffn")

    def _head(self, ops: Ops, x: Secret) -> Secret:
        pooled = ops.observe("pooled", self.handles.linear(ops, x, "pooler", self.bounds.pooled))
        logits = self.handles.linear(ops, tanh(ops, pooled), "head", self.bounds.logits)
        ops.observe("logits", logits)
        return layout.reshape(logits, (*logits.shape[:-2], self.geometry.classes))
