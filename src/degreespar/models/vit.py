"""A compact Vision Transformer with Hugging Face semantics and degrees that follow a policy.

Pre-layer-norm blocks, learned positions, biases everywhere, a [CLS] token that the head reads. Without a
policy softmax and GeLU are exact; with one they are computed in hard mode, exactly the functions that the
private program evaluates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from degreespar.artifact import VitGeometry
from degreespar.degree import DegreePolicy, IntGrid, LayerPolicy
from degreespar.models.errors import ModelError
from degreespar.models.nonlinear import gelu_by_order, softmax_by_squarings

Observer = Callable[[str, Tensor], None]
"""Called with a point, named as in LayerBounds (after `layers.{i}.`) or ModelBounds, and its value."""


def unobserved(name: str, value: Tensor) -> None:
    """The observer that looks away."""


def under(prefix: str, observe: Observer) -> Observer:
    """The same observer, told names that begin with `prefix`."""
    if observe is unobserved:
        return unobserved
    return lambda name, value: observe(f"{prefix}.{name}", value)


class Norm(nn.Module):
    """Layer norm whose normed value (before gamma and beta) and variance can be observed."""

    def __init__(self, width: int, eps: float) -> None:
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: Tensor, name: str, observe: Observer) -> Tensor:
        """Normalise the last axis; `name` is `attention`, `ffn` or `final`."""
        shape = self.weight.shape
        if observe is not unobserved:
            observe(f"{name}_variance", x.var(dim=-1, unbiased=False) + self.eps)
            observe(f"{name}_normed", functional.layer_norm(x, shape, eps=self.eps))
        return functional.layer_norm(x, shape, self.weight, self.bias, self.eps)


class Degrees(nn.Module):
    """One grid of a policy on the model's device, with the states that occur in it."""

    grid: Tensor

    def __init__(self, grid: IntGrid) -> None:
        nn.Module.__init__(self)
        self.states = tuple(sorted(int(state) for state in grid.groups()))
        self.register_buffer("grid", torch.from_numpy(grid.values.copy()), persistent=False)


class Attention(nn.Module):
    """Multi-head attention; q, k and v are one matrix, in this order."""

    def __init__(self, width: int, heads: int) -> None:
        nn.Module.__init__(self)
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.squarings: Degrees | None = None

    def forward(self, x: Tensor, observe: Observer) -> Tensor:
        """Attend among the tokens of `x`; observed queries already carry 1/sqrt(head width)."""
        batch, tokens, width = x.shape
        split = self.query_key_value(x).view(batch, tokens, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        query = query / math.sqrt(width // self.heads)
        for name, seen in (("query", query), ("key", key), ("value", value)):
            observe(name, seen)
        scores = query @ key.transpose(-1, -2)
        observe("scores", scores)
        context = (self.weigh(scores).to(value.dtype) @ value).transpose(1, 2)
        observe("context", context)
        output: Tensor = self.projection(context.reshape(batch, tokens, width))
        return output

    def weigh(self, scores: Tensor) -> Tensor:
        """The rows of attention weights."""
        if self.squarings is None:
            return scores.softmax(dim=-1)
        return softmax_by_squarings(scores, self.squarings.grid, self.squarings.states)


class Layer(nn.Module):
    """One block: attention and FFN, each behind a layer norm and added to its input."""

    def __init__(self, width: int, heads: int, ffn_width: int, eps: float) -> None:
        nn.Module.__init__(self)
        self.attention_norm = Norm(width, eps)
        self.attention = Attention(width, heads)
        self.ffn_norm = Norm(width, eps)
        self.expand = nn.Linear(width, ffn_width)
        self.contract = nn.Linear(ffn_width, width)
        self.gelu_orders: Degrees | None = None

    def forward(self, x: Tensor, observe: Observer = unobserved) -> Tensor:
        """Map the residual stream [batch, tokens, width] to the next layer's."""
        observe("input", x)
        if observe is not unobserved:
            spread = x[:, 1:].var(dim=-1, unbiased=False) + self.attention_norm.eps
            observe("score_variance", spread.mean(dim=-1))
        middle = x + self.attention(self.attention_norm(x, "attention", observe), observe)
        observe("middle", middle)
        hidden = self.expand(self.ffn_norm(middle, "ffn", observe))
        observe("hidden", hidden)
        activated = self.activate(hidden).to(hidden.dtype)
        observe("activated", activated)
        output: Tensor = middle + self.contract(activated)
        observe("output", output)
        return output

    def activate(self, hidden: Tensor) -> Tensor:
        """GeLU, exact or of the policy's orders."""
        if self.gelu_orders is None:
            return functional.gelu(hidden)
        return gelu_by_order(hidden, self.gelu_orders.grid, self.gelu_orders.states)

    def use(self, policy: LayerPolicy | None) -> None:
        """Follow `policy` from now on; None is the exact mode."""
        device = self.expand.weight.device
        self.attention.squarings = None if policy is None else Degrees(policy.squarings).to(device)
        self.gelu_orders = None if policy is None else Degrees(policy.gelu_orders).to(device)


class Vit(nn.Module):
    """The classifier: normalised pixels [batch, channels, image_px, image_px] to logits [batch, classes]."""

    def __init__(self, geometry: VitGeometry) -> None:
        nn.Module.__init__(self)
        self.geometry = geometry
        width, eps = geometry.width, geometry.layer_norm_eps
        self.patch = nn.Linear(geometry.patch_values, width)
        self.class_token = nn.Parameter(torch.zeros(width))
        self.positions = nn.Parameter(torch.zeros(geometry.tokens, width))
        self.layers = nn.ModuleList(
            Layer(width, geometry.heads, ffn_width, eps) for ffn_width in geometry.ffn_widths
        )
        self.final_norm = Norm(width, eps)
        self.head = nn.Linear(width, geometry.classes)
        self.initialise()

    def initialise(self) -> None:
        """The usual ViT start: truncated normals of deviation 0.02, zero biases."""
        for name, parameter in self.named_parameters():
            if "norm" in name:
                continue
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            else:
                nn.init.trunc_normal_(parameter, std=0.02)

    def blocks(self) -> Iterator[Layer]:
        """The layers, in order."""
        for layer in self.layers:
            assert isinstance(layer, Layer)
            yield layer

    def use(self, policy: DegreePolicy | None) -> None:
        """Compute softmax and GeLU as `policy` says, in hard mode; None is the exact mode."""
        if policy is not None and len(policy.layers) != self.geometry.layers:
            raise ModelError(
                f"the policy has {len(policy.layers)} layers and the model has {self.geometry.layers}"
            )
        chosen = [None] * self.geometry.layers if policy is None else list(policy.layers)
        for index, part in enumerate(chosen):
            if part is not None:
                self.check_shape(index, part)
        for layer, part in zip(self.blocks(), chosen, strict=True):
            layer.use(part)

    def check_shape(self, index: int, part: LayerPolicy) -> None:
        """Refuse grids that are not of this model's shape, and selections, which it does not make yet."""
        if part.selection is not None:
            raise ModelError(f"layer {index} of the policy selects tokens, which this model cannot do")
        tokens, ffn_width = self.geometry.tokens, self.geometry.ffn_widths[index]
        shapes = (part.squarings.values.shape, part.gelu_orders.values.shape)
        if shapes != ((tokens, tokens), (tokens, ffn_width)):
            raise ModelError(
                f"layer {index} of the policy has grids of shapes {shapes[0]} and {shapes[1]}, "
                f"the model needs {(tokens, tokens)} and {(tokens, ffn_width)}"
            )

    def forward(self, pixels: Tensor, observe: Observer = unobserved) -> Tensor:
        """Classify; every point that a bound is chosen from is shown to `observe`."""
        patches = self.patch(patch_vectors(pixels, self.geometry.patch_px))
        class_token = self.class_token.to(patches.dtype).expand(len(patches), 1, -1)
        x = torch.cat([class_token, patches], dim=1) + self.positions
        for index, layer in enumerate(self.layers):
            x = layer(x, under(f"layers.{index}", observe))
        logits: Tensor = self.head(self.final_norm(x[:, 0], "final", observe))
        observe("logits", logits)
        return logits


def patch_vectors(pixels: Tensor, patch_px: int) -> Tensor:
    """[batch, channels, h, w] to [batch, patches, values]; a patch's values by row, column, channel."""
    batch, channels, height, width = pixels.shape
    rows, columns = height // patch_px, width // patch_px
    cut = pixels.reshape(batch, channels, rows, patch_px, columns, patch_px)
    return cut.permute(0, 2, 4, 3, 5, 1).reshape(batch, rows * columns, -1)
