"""A compact BERT for sequence classification with Hugging Face semantics and degrees that follow a policy.

Post-layer-norm blocks, learned positions and segments, a pooler on [CLS]. A text enters as two rows of
integers: the numbers of its pieces, and their segments counted from 1, where 0 marks padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import torch
from torch import Tensor, nn

from degreespar.artifact import BertGeometry
from degreespar.degree import DegreePolicy, LayerPolicy
from degreespar.models.behaviour import EXACT, Behaviour, Hard
from degreespar.models.errors import ModelError
from degreespar.models.functions import AS_WRITTEN, Functions
from degreespar.models.vit import Attention, Norm, Observer, under, unobserved, use_policy
from degreespar.numerics.tanh import TANH

PADDING_PENALTY = -(2.0**15)
"""Added to the scores of padding: below any cut-off, and far from where float32 loses their digits."""


class BertLayer(nn.Module):
    """One block: attention and FFN, each added to its input and then normalised.

    Tokens are selected behind the first norm, by its variance and by what the attention has seen.
    """

    def __init__(self, width: int, heads: int, ffn_width: int, eps: float) -> None:
        nn.Module.__init__(self)
        self.attention = Attention(width, heads)
        self.attention_norm = Norm(width, eps)
        self.expand = nn.Linear(width, ffn_width)
        self.contract = nn.Linear(ffn_width, width)
        self.ffn_norm = Norm(width, eps)
        self.behaviour: Behaviour = EXACT

    def forward(
        self, x: Tensor, there: Tensor, presence: Tensor | None, last: bool, observe: Observer
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Map the stream [batch, tokens, width] to the next layer's, with `there` and `presence`.

        `there` [batch, tokens] is 1 for a token and 0 for padding. Of the last layer only the [CLS] row is
        computed: nothing else reaches the answer.
        """
        behaviour = self.behaviour
        observe("input", x)
        penalty = ((1.0 - there) * PADDING_PENALTY)[:, None, None, :]
        queries = 1 if last else x.shape[1]
        update, weights = self.attention(
            x, queries, lambda s: behaviour.weigh(s + penalty, presence), observe
        )
        middle = x[:, :queries] + update
        observe("middle", middle)
        normed = self.attention_norm(middle, "attention", observe)
        observe("middle", normed)
        if behaviour.selects or observe is not unobserved:
            # Padding varies as little as can be, so that it is the first to go.
            variance = (middle.var(dim=-1, unbiased=False) + self.attention_norm.eps) * there[:, :queries]
            # The last layer has no selection, and of its rows only [CLS].
            observe("score_variance", variance[:, min(1, queries - 1) :].mean(dim=-1))
            if behaviour.selects:
                payload = torch.cat([normed, there[..., None].to(normed.dtype)], dim=-1)
                paid = weights[:, :, 0].mean(dim=1)
                payload, presence = behaviour.select(payload, variance, paid, presence)
                normed, there = payload[..., :-1], payload[..., -1]
        hidden = self.expand(normed)
        observe("hidden", hidden)
        activated = behaviour.activate(hidden).to(hidden.dtype)
        observe("activated", activated)
        update = self.contract(activated)
        if presence is not None:
            update = update * presence[:, : update.shape[1], None]
        output = normed + update
        observe("output", output)
        return self.ffn_norm(output, "ffn", observe), there, presence

    def use(self, policy: LayerPolicy | None, functions: Functions = AS_WRITTEN) -> None:
        """Follow `policy` from now on; None is the exact mode."""
        device = self.expand.weight.device
        self.behaviour = EXACT if policy is None else Hard(policy, device, functions)


class Bert(nn.Module):
    """The classifier: texts [batch, 2, tokens] (pieces, segments + 1 or 0) to logits [batch, classes]."""

    def __init__(self, geometry: BertGeometry) -> None:
        nn.Module.__init__(self)
        self.geometry = geometry
        width, eps = geometry.width, geometry.layer_norm_eps
        self.words = nn.Embedding(geometry.vocabulary, width)
        self.segments = nn.Embedding(geometry.segments, width)
        self.positions = nn.Parameter(torch.zeros(geometry.positions, width))
        self.embedding_norm = Norm(width, eps)
        self.layers = nn.ModuleList(
            BertLayer(width, geometry.heads, ffn_width, eps) for ffn_width in geometry.ffn_widths
        )
        self.pooler = nn.Linear(width, width)
        self.head = nn.Linear(width, geometry.classes)
        self.exact = True
        self.initialise()

    def initialise(self) -> None:
        """BERT's start: normals of deviation 0.02, zero biases."""
        for name, parameter in self.named_parameters():
            if "norm" in name:
                continue
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            else:
                nn.init.normal_(parameter, std=0.02)

    def blocks(self) -> Iterator[BertLayer]:
        """The layers, in order."""
        for layer in self.layers:
            assert isinstance(layer, BertLayer)
            yield layer

    def at_length(self, tokens: int) -> Bert:
        """The same parameters for texts padded to `tokens`: what a policy's grids must fit."""
        other = copy(self)
        other.geometry = self.geometry.at_length(tokens)
        return other

    def use(self, policy: DegreePolicy | None, functions: Functions = AS_WRITTEN) -> None:
        """Compute softmax, GeLU and tanh as deployed, in hard mode; None is the exact mode."""
        use_policy(self, policy, functions)
        self.exact = policy is None

    def forward(self, texts: Tensor, observe: Observer = unobserved) -> Tensor:
        """Classify; every point that a bound is chosen from is shown to `observe`."""
        pieces, marks = texts.unbind(1)
        tokens = pieces.shape[-1]
        if tokens > self.geometry.positions:
            raise ModelError(f"a text of {tokens} tokens has no position past {self.geometry.positions}")
        looked_up = self.words(pieces) + self.segments((marks - 1).clamp(min=0))
        observe("embedding", looked_up)
        embedded = looked_up + self.positions[:tokens]
        observe("embedding", embedded)
        x = self.embedding_norm(embedded, "embedding", observe)
        there, presence = (marks > 0).float(), None
        for index, layer in enumerate(self.layers):
            last = index + 1 == self.geometry.layers
            x, there, presence = layer(x, there, presence, last, under(f"layers.{index}", observe))
        pooled = self.pooler(x[:, 0])
        observe("pooled", pooled)
        squashed = torch.tanh(pooled) if self.exact else segmented_tanh(pooled)
        logits: Tensor = self.head(squashed)
        observe("logits", logits)
        return logits


def segmented_tanh(x: Tensor) -> Tensor:
    """The deployed tanh: a polynomial of |x| with the sign of x between the edges, -1 and 1 outside."""
    size = x.float().abs()
    near = size.clamp(max=TANH.edge)
    value = torch.zeros_like(near)
    for coefficient in reversed(TANH.coefficients):
        value = value * near + coefficient
    return (torch.where(size <= TANH.edge, value, 1.0) * x.sign()).to(x.dtype)
