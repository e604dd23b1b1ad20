"""A trained BERT as the affine maps that the private program applies: x @ weight + bias.

A norm's scale and shift go into the linear map behind it and, as `width` more columns of that map, into
the residual stream; 1/sqrt(head width) goes into the query.
"""

from __future__ import annotations

import numpy as np

from degreespar.models.bert import Bert
from degreespar.models.vit import Norm
from degreespar.training.fold import Affine, affine, behind, query_scaled, reals


def folded_bert(model: Bert) -> dict[str, Affine]:
    """The affine maps by the names of docs/spec/artifact.md (`embedding` holds the positions alone)."""
    width = model.geometry.width
    nothing = np.zeros((0, width))
    maps = {
        "table": Affine(np.concatenate([reals(model.words.weight), reals(model.segments.weight)]), nothing),
        "embedding": Affine(nothing, reals(model.positions)),
    }
    norm = model.embedding_norm
    for index, layer in enumerate(model.blocks()):
        prefix, attention = f"layers.{index}", layer.attention
        qkv = query_scaled(behind(norm, affine(attention.query_key_value)), width, attention.heads)
        maps[f"{prefix}.query_key_value"] = beside(qkv, stream(norm))
        maps[f"{prefix}.projection"] = affine(attention.projection)
        expand = behind(layer.attention_norm, affine(layer.expand))
        maps[f"{prefix}.expand"] = beside(expand, stream(layer.attention_norm))
        maps[f"{prefix}.contract"] = affine(layer.contract)
        norm = layer.ffn_norm
    maps["pooler"] = behind(norm, affine(model.pooler))
    maps["head"] = affine(model.head)
    return maps


def stream(norm: Norm) -> Affine:
    """The scale and shift of a norm as a diagonal map."""
    return Affine(np.diag(reals(norm.weight)), reals(norm.bias))


def beside(left: Affine, right: Affine) -> Affine:
    """Two maps of the same input as one."""
    return Affine(np.hstack([left.weight, right.weight]), np.concatenate([left.bias, right.bias]))
