"""A trained ViT as the affine maps that the private program applies: x @ weight + bias.

The affine part of each layer norm goes into the linear map behind it, and 1/sqrt(head width) into the
query, so that neither costs the two parties anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from degreespar.models.vit import Norm, Vit

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Affine:
    """x @ weight + bias; weight [inputs, outputs], bias [outputs] (the embedding's: [tokens, outputs])."""

    weight: Reals
    bias: Reals


def folded(model: Vit) -> dict[str, Affine]:
    """The affine maps by the names of docs/spec/artifact.md (`embedding` holds the patch matrix)."""
    maps = {"embedding": embedding(model)}
    for index, layer in enumerate(model.blocks()):
        prefix = f"layers.{index}"
        attention = layer.attention
        qkv = behind(layer.attention_norm, affine(attention.query_key_value))
        maps[f"{prefix}.query_key_value"] = query_scaled(qkv, model.geometry.width, attention.heads)
        maps[f"{prefix}.projection"] = affine(attention.projection)
        maps[f"{prefix}.expand"] = behind(layer.ffn_norm, affine(layer.expand))
        maps[f"{prefix}.contract"] = affine(layer.contract)
    maps["head"] = behind(model.final_norm, affine(model.head))
    return maps


def embedding(model: Vit) -> Affine:
    """The patch matrix, and per token what is added: [CLS] or the patch bias, with the position."""
    patch = affine(model.patch)
    rows = np.tile(patch.bias, (model.geometry.tokens, 1))
    rows[0] = reals(model.class_token)
    return Affine(patch.weight, rows + reals(model.positions))


def affine(linear: nn.Linear) -> Affine:
    """A torch layer in our orientation."""
    return Affine(reals(linear.weight).T, reals(linear.bias))


def behind(norm: Norm, follower: Affine) -> Affine:
    """(x * gamma + beta) @ W + b as x @ (gamma W) + (b + beta W)."""
    gamma, beta = reals(norm.weight), reals(norm.bias)
    return Affine(gamma[:, None] * follower.weight, follower.bias + beta @ follower.weight)


def query_scaled(qkv: Affine, width: int, heads: int) -> Affine:
    """The first third of the outputs over sqrt(head width)."""
    scale = np.ones(3 * width)
    scale[:width] = 1.0 / math.sqrt(width // heads)
    return Affine(qkv.weight * scale, qkv.bias * scale)


def reals(tensor: Tensor) -> Reals:
    """A parameter in double precision."""
    return tensor.detach().cpu().double().numpy()
