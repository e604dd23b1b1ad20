"""A tiny artifact of texts with random weights, and texts for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from degreespar.artifact import BertGeometry, PublicPart, TextPart, expected_weights, write_artifact
from degreespar.degree import DegreePolicy, IntGrid, LayerPolicy, Selection, TextBounds
from tests.support.made_artifact import BOUNDS, VARIANCE

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "a", "##s", "not", "!")
GEOMETRY = BertGeometry(
    vocabulary=12,
    segments=2,
    positions=10,
    length_classes=(5, 8),
    embedding="public",
    width=8,
    heads=2,
    ffn_widths=(6, 4),
    classes=3,
    layer_norm_eps=1e-5,
)
PRIVATE = replace(GEOMETRY, embedding="private")
LABELS = ("bad", "so so", "good")
TEXTS = (("good film", None), ("not a bad film!", None), ("bad", "films"))
TABLE_FRAC_BITS = 7
WEIGHT_FRAC_BITS = 10


def policy(tokens: int) -> DegreePolicy:
    """Every state somewhere."""
    pattern = np.resize(np.array([5, 3, 4, -1, 6, 2, 1, 0], dtype=np.int8), (tokens, tokens))
    np.fill_diagonal(pattern, 5)
    pattern[:, 0] = 4  # [CLS] is never padding: no row is left without a token
    orders = np.array([4, 1, 6, 2, 3, 0], dtype=np.int8)
    layers = [
        LayerPolicy(IntGrid(pattern), IntGrid(np.resize(orders, (tokens, width))), BOUNDS)
        for width in GEOMETRY.ffn_widths
    ]
    return DegreePolicy(tuple(layers), TextBounds(8.0, 4.0, 16.0, 32.0, VARIANCE))


def selecting(tokens: int) -> DegreePolicy:
    """The first layer keeps all but two tokens, in two ranges."""
    plain, kept = policy(tokens), tokens - 2
    first = replace(
        plain.layers[0],
        selection=Selection(ranges=(2, kept - 3), alpha=0.5),
        gelu_orders=IntGrid(plain.layers[0].gelu_orders.values[:kept]),
    )
    second = replace(
        plain.layers[1],
        squarings=IntGrid(plain.layers[1].squarings.values[:kept, :kept]),
        gelu_orders=IntGrid(plain.layers[1].gelu_orders.values[:kept]),
    )
    return replace(plain, layers=(first, second))


def made_public(geometry: BertGeometry = GEOMETRY, reveal: str = "scores") -> PublicPart:
    """The public part, without files."""
    entries = tuple(
        replace(entry, frac_bits=WEIGHT_FRAC_BITS) if entry.dtype == "int16" else entry
        for entry in expected_weights(geometry)
    )
    shorter = tuple(policy(tokens) for tokens in geometry.length_classes[:-1])
    return PublicPart("tiny text", geometry, policy(geometry.tokens), entries, LABELS, shorter, reveal)


def made_tensors(public: PublicPart, seed: int = 6) -> dict[str, np.ndarray]:
    """Random weights."""
    rng, tensors = np.random.default_rng(seed), {}
    for entry in public.weights:
        reals = rng.normal(0.0, 0.3 if entry.dtype == "int16" else 0.2, entry.shape)
        tensors[entry.name] = np.rint(reals * 2.0**entry.frac_bits).astype(entry.dtype)
    return tensors


def made_client(geometry: BertGeometry = GEOMETRY, seed: int = 7) -> TextPart:
    """The vocabulary, and a random table where it is public."""
    if not geometry.has_public_table:
        return TextPart(WORDS, True, None)
    shape = (geometry.table_rows, geometry.width)
    table = np.random.default_rng(seed).integers(-127, 128, shape).astype(np.int8)
    return TextPart(WORDS, True, TABLE_FRAC_BITS, table)


def made_text_artifact(folder: Path, geometry: BertGeometry = GEOMETRY, reveal: str = "scores") -> str:
    """Writes the artifact and returns its digest."""
    public = made_public(geometry, reveal)
    return write_artifact(folder, public, made_client(geometry), made_tensors(public))
