"""A tiny artifact with random weights, different degrees side by side, and pictures for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from degreespar.artifact import ClientPart, PublicPart, VitGeometry, expected_weights, write_artifact
from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, LayerPolicy, Method, ModelBounds, Selection

GEOMETRY = VitGeometry(
    image_px=4,
    patch_px=2,
    channels=1,
    width=8,
    heads=2,
    ffn_widths=(6, 4),
    classes=3,
    layer_norm_eps=1e-5,
)
CLIENT = ClientPart(mean=(0.5,), std=(0.25,), input_frac_bits=12)
LABELS = ("circle", "square", "star")
WEIGHT_FRAC_BITS = 10
VARIANCE = (2.0**-8, 2.0**6)
BOUNDS = LayerBounds(
    input=32.0,
    query=16.0,
    key=16.0,
    value=16.0,
    scores=64.0,
    context=16.0,
    middle=32.0,
    hidden=16.0,
    activated=16.0,
    output=32.0,
    attention_normed=4.0,
    ffn_normed=4.0,
    attention_variance=VARIANCE,
    ffn_variance=VARIANCE,
    score_variance=VARIANCE,
)


def policy(squarings: int | None = None) -> DegreePolicy:
    """Every state somewhere, or the same squarings everywhere."""
    tokens = GEOMETRY.tokens
    pattern = np.resize(np.array([5, 3, 4, -1, 6, 2, 1, 0], dtype=np.int8), (tokens, tokens))
    np.fill_diagonal(pattern, 5)
    grids = IntGrid(pattern) if squarings is None else IntGrid.uniform(tokens, tokens, squarings)
    orders = np.array([4, 1, 6, 2, 3, 0], dtype=np.int8)
    layers = [
        LayerPolicy(grids, IntGrid(np.resize(orders, (tokens, width))), BOUNDS)
        for width in GEOMETRY.ffn_widths
    ]
    return DegreePolicy(tuple(layers), ModelBounds(4.0, 32.0, VARIANCE))


def selecting_policy(method: Method | None = None) -> DegreePolicy:
    """The first layer drops one of the four picture tokens and moves the others into two ranges."""
    plain = policy(squarings=5)
    tokens, selection = GEOMETRY.tokens, Selection((1, 2), 0.5, method)
    grids = [IntGrid(layer.gelu_orders.values[: selection.kept_tokens]) for layer in plain.layers]
    inner = IntGrid.uniform(selection.kept_tokens, selection.kept_tokens, 4)
    assert tokens == selection.kept_tokens + 1
    first = replace(plain.layers[0], gelu_orders=grids[0], selection=selection)
    return replace(plain, layers=(first, replace(plain.layers[1], squarings=inner, gelu_orders=grids[1])))


def made_artifact(
    folder: Path, seed: int = 5, name: str = "tiny", degrees: DegreePolicy | None = None
) -> str:
    """Writes the artifact and returns its digest."""
    rng = np.random.default_rng(seed)
    entries = tuple(
        replace(entry, frac_bits=WEIGHT_FRAC_BITS) if entry.dtype == "int16" else entry
        for entry in expected_weights(GEOMETRY)
    )
    tensors = {}
    for entry in entries:
        scale = 0.3 if entry.dtype == "int16" else 0.2
        reals = rng.normal(0.0, scale, entry.shape)
        tensors[entry.name] = np.rint(reals * 2.0**entry.frac_bits).astype(entry.dtype)
    public = PublicPart(name, GEOMETRY, degrees or policy(), entries, LABELS)
    return write_artifact(folder, public, CLIENT, tensors)


def write_picture(path: Path, seed: int, side: int = 4, mode: str = "L") -> Path:
    """A picture of noise."""
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, *channels), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path
