"""The secure Vision Transformer, written once for every engine.

Pre-norm blocks as in Hugging Face's ViT. Scales and affine norms are folded into the weights at
export (docs/spec/artifact.md), so that a block is norm, linear, attention, linear, norm, linear,
GeLU, linear; where the policy selects, tokens are routed after the attention's residual. Of the last
block only the [CLS] row is computed: nothing else reaches the answer.
"""

from dataclasses import dataclass
from functools import cached_property

from degreespar.artifact import PublicPart, VitGeometry
from degreespar.degree import LayerPolicy, ModelBounds
from degreespar.engine import layout
from degreespar.engine.ops import Ops, linear_bits
from degreespar.engine.ring import Integers
from degreespar.engine.secret import Secret
from degreespar.program.block import Handles, attention, first_rows
from degreespar.program.gelu import gelu_by_pattern
from degreespar.program.norm import layer_norm, layer_norm_with_variance
from degreespar.program.selection import select_tokens
from degreespar.program.units import INPUT_FRAC

INPUT_BOUND = 16.0
"""|normalised pixel|: a client refuses a picture beyond it."""


@dataclass(frozen=True)
class VitProgram:
    """Geometry, policy and the names, shapes and units of the server's weights: all public."""

    public: PublicPart

    @property
    def geometry(self) -> VitGeometry:
        """The model's shape."""
        return self.public.pictures

    @cached_property
    def handles(self) -> Handles:
        """The server's weights, by name."""
        return Handles(self.public)

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
        matrix = self.handles.matrix("patch")
        shape = (*batch, geometry.patches, geometry.patch_values)
        bits = linear_bits(INPUT_FRAC, matrix, bound)
        ops.part("linear")
        pixels = ops.input(patches, shape, INPUT_FRAC, INPUT_BOUND, bits)
        embedded = ops.linear(pixels, matrix, bound)
        class_row = ops.zeros((*batch, 1, geometry.width), like=embedded)
        rows = layout.concatenate([class_row, embedded], axis=-2)
        return ops.observe("input", ops.add_private(rows, self.handles.tensor("embedding.bias"), bound))

    def _block(self, ops: Ops, x: Secret, number: int, policy: LayerPolicy, queries: int) -> Secret:
        bounds, prefix = policy.bounds, f"layers.{number}"
        epsilon = self.geometry.layer_norm_eps
        normed, variance = layer_norm_with_variance(
            ops, x, bounds.attention_variance, epsilon, bounds.attention_normed, "attention"
        )
        widest = max(bounds.query, bounds.key, bounds.value)
        both = self.handles.linear(ops, normed, f"{prefix}.query_key_value", widest)
        context, class_row = attention(ops, both, self.geometry.heads, policy, queries)
        x = layout.part(x, slice(0, queries), slice(None))
        mixed = self.handles.linear(ops, context, f"{prefix}.projection", x.bound + bounds.middle)
        x = ops.observe("middle", ops.add(x, mixed, bound=bounds.middle))
        if policy.selection is not None:
            x = select_tokens(ops, x, variance, class_row, policy.selection, bounds.score_variance)
        normed = layer_norm(ops, x, bounds.ffn_variance, epsilon, bounds.ffn_normed, "ffn")
        hidden = ops.observe("hidden", self.handles.linear(ops, normed, f"{prefix}.expand", bounds.hidden))
        orders = first_rows(policy.gelu_orders, x.shape[-2])
        activated = ops.observe("activated", gelu_by_pattern(ops, hidden, orders, bounds.activated))
        update = self.handles.linear(ops, activated, f"{prefix}.contract", x.bound + bounds.output)
        return ops.observe("output", ops.add(x, update, bound=bounds.output))

    def _head(self, ops: Ops, x: Secret) -> Secret:
        bounds, epsilon = self.public.policy.bounds, self.geometry.layer_norm_eps
        if not isinstance(bounds, ModelBounds):
            raise TypeError("a policy for texts in a model of pictures")  # the artifact was checked
        normed = layer_norm(ops, x, bounds.final_variance, epsilon, bounds.final_normed, "final")
        logits = ops.observe("logits", self.handles.linear(ops, normed, "head", bounds.logits))
        return layout.reshape(logits, (*logits.shape[:-2], self.geometry.classes))
