"""A compact Vision Transformer with Hugging Face semantics and degrees that follow a policy.

Pre-layer-norm blocks, learned positions, biases everywhere, a [CLS] token that the head reads. Without a
policy softmax and GeLU are exact; with one they are computed in hard mode, exactly the functions that the
private program evaluates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from degreespar.artifact import BertGeometry, VitGeometry
from degreespar.degree import DegreePolicy, LayerPolicy
from degreespar.models.behaviour import EXACT, Behaviour, Hard
from degreespar.models.errors import ModelError
from degreespar.models.functions import AS_WRITTEN, Functions

Observer = Callable[[str, Tensor], None]
"""Called with a point, named as in LayerBounds (after `layers.{i}.`) or ModelBounds, and its value."""

Weigh = Callable[[Tensor], Tensor]
"""From scores to rows of attention weights."""


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


class Attention(nn.Module):
    """Multi-head attention; q, k and v are one matrix, in this order."""

    def __init__(self, width: int, heads: int) -> None:
        nn.Module.__init__(self)
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x: Tensor, queries: int, weigh: Weigh, observe: Observer) -> tuple[Tensor, Tensor]:
        """What the first `queries` tokens of `x` gather, and their weights on all [batch, heads, ...].

        Observed queries already carry 1/sqrt(head width).
        """
        batch, tokens, width = x.shape
        split = self.query_key_value(x).view(batch, tokens, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        query = query[..., :queries, :] / math.sqrt(width // self.heads)
        for name, seen in (("query", query), ("key", key), ("value", value)):
            observe(name, seen)
        scores = query @ key.transpose(-1, -2)
        observe("scores", scores)
        weights = weigh(scores)
        context = (weights.to(value.dtype) @ value).transpose(1, 2)
        observe("context", context)
        output: Tensor = self.projection(context.reshape(batch, queries, width))
        return output, weights


class Layer(nn.Module):
    """One block: attention and FFN, each behind a layer norm and added to its input.

    Tokens are selected between the two, by what the first norm and the attention have seen.
    """

    def __init__(self, width: int, heads: int, ffn_width: int, eps: float) -> None:
        nn.Module.__init__(self)
        self.attention_norm = Norm(width, eps)
        self.attention = Attention(width, heads)
        self.ffn_norm = Norm(width, eps)
        self.expand = nn.Linear(width, ffn_width)
        self.contract = nn.Linear(ffn_width, width)
        self.behaviour: Behaviour = EXACT

    def forward(
        self, x: Tensor, presence: Tensor | None = None, last: bool = False, observe: Observer = unobserved
    ) -> tuple[Tensor, Tensor | None]:
        """Map the residual stream [batch, tokens, width] to the next layer's, with `presence`.

        Of the last layer only the [CLS] row is computed: nothing else reaches the answer.
        """
        behaviour = self.behaviour
        observe("input", x)
        normed = self.attention_norm(x, "attention", observe)
        queries = 1 if last else x.shape[1]
        update, weights = self.attention(normed, queries, lambda s: behaviour.weigh(s, presence), observe)
        middle = x[:, :queries] + update
        observe("middle", middle)
        if behaviour.selects or observe is not unobserved:
            variance = x.var(dim=-1, unbiased=False) + self.attention_norm.eps
            observe("score_variance", variance[:, 1:].mean(dim=-1))
            if behaviour.selects:
                middle, presence = behaviour.select(middle, variance, weights[:, :, 0].mean(dim=1), presence)
        hidden = self.expand(self.ffn_norm(middle, "ffn", observe))
        observe("hidden", hidden)
        activated = behaviour.activate(hidden).to(hidden.dtype)
        observe("activated", activated)
        update = self.contract(activated)
        if presence is not None:
            update = update * presence[:, : update.shape[1], None]
        output = middle + update
        observe("output", output)
        return output, presence

    def use(self, policy: LayerPolicy | None, functions: Functions = AS_WRITTEN) -> None:
        """Follow `policy` from now on; None is the exact mode."""
        device = self.expand.weight.device
        self.behaviour = EXACT if policy is None else Hard(policy, device, functions)


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

    def use(self, policy: DegreePolicy | None, functions: Functions = AS_WRITTEN) -> None:
        """Compute softmax and GeLU as `policy` says, in hard mode; None is the exact mode."""
        use_policy(self, policy, functions)

    def forward(self, pixels: Tensor, observe: Observer = unobserved) -> Tensor:
        """Classify; every point that a bound is chosen from is shown to `observe`."""
        return self.classified(self.embedded(pixels), observe)

    def embedded(self, pixels: Tensor) -> Tensor:
        """[CLS] and the patches, with their positions: [batch, tokens, width]."""
        patches = self.patch(patch_vectors(pixels, self.geometry.patch_px))
        class_token = self.class_token.to(patches.dtype).expand(len(patches), 1, -1)
        return torch.cat([class_token, patches], dim=1) + self.positions

    def classified(self, x: Tensor, observe: Observer = unobserved) -> Tensor:
        """The logits of embedded tokens, [CLS] first; training may leave some of the others out."""
        presence = None
        for index, layer in enumerate(self.layers):
            last = index + 1 == self.geometry.layers
            x, presence = layer(x, presence, last, under(f"layers.{index}", observe))
        logits: Tensor = self.head(self.final_norm(x[:, 0], "final", observe))
        observe("logits", logits)
        return logits


class FollowsPolicy(Protocol):
    """A layer whose behaviour a policy decides."""

    behaviour: Behaviour

    def use(self, policy: LayerPolicy | None, functions: Functions = AS_WRITTEN) -> None:
        """Follow `policy` from now on; None is the exact mode."""


class Classifier(Protocol):
    """What a Vit and a Bert have in common."""

    @property
    def geometry(self) -> VitGeometry | BertGeometry:
        """The model's shape."""

    def blocks(self) -> Iterator[FollowsPolicy]:
        """The layers, in order."""


def use_policy(model: Classifier, policy: DegreePolicy | None, functions: Functions) -> None:
    """Give every layer its part of `policy`, or none; a policy of another shape is refused first."""
    geometry = model.geometry
    if policy is not None and len(policy.layers) != geometry.layers:
        raise ModelError(f"the policy has {len(policy.layers)} layers and the model has {geometry.layers}")
    chosen = [None] * geometry.layers if policy is None else list(policy.layers)
    tokens = geometry.tokens
    for index, part in enumerate(chosen):
        if part is not None:
            check_shape(geometry, index, part, tokens)
            tokens = part.kept_tokens
    for layer, part in zip(model.blocks(), chosen, strict=True):
        layer.use(part, functions)


def check_shape(geometry: VitGeometry | BertGeometry, index: int, part: LayerPolicy, tokens: int) -> None:
    """Refuse a layer that `tokens` do not enter, or whose FFN is of another width."""
    ffn_width = geometry.ffn_widths[index]
    if (part.tokens, part.ffn_width) != (tokens, ffn_width):
        raise ModelError(
            f"layer {index} of the policy is for {part.tokens} tokens and an FFN of {part.ffn_width}, "
            f"the model needs {tokens} and {ffn_width}"
        )


def patch_vectors(pixels: Tensor, patch_px: int) -> Tensor:
    """[batch, channels, h, w] to [batch, patches, values]; a patch's values by row, column, channel."""
    batch, channels, height, width = pixels.shape
    rows, columns = height // patch_px, width // patch_px
    cut = pixels.reshape(batch, channels, rows, patch_px, columns, patch_px)
    return cut.permute(0, 2, 4, 3, 5, 1).reshape(batch, rows * columns, -1)
