"""A model of any shape with random weights: what a run costs depends on shapes, degrees and bounds alone.

The bounds are those of models trained here (demo/model/public.json), so that every ring is as wide as
in a real run; the answers mean nothing.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from degreespar.artifact import ClientPart, PublicPart, VitGeometry, expected_weights, write_artifact
from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, LayerPolicy, ModelBounds

VARIANCE = (2.0**-6, 2.0**4)
CLIENT = ClientPart(mean=(0.5,), std=(0.25,), input_frac_bits=12)
WEIGHT_FRAC_BITS = 14


def made_policy(geometry: VitGeometry, squarings: int, gelu_order: int) -> DegreePolicy:
    """One degree everywhere, with the bounds of a trained model."""
    # A normed value is at most sqrt(width - 1).
    normed = 2.0 ** math.ceil(math.log2(geometry.width) / 2)
    bounds = LayerBounds(
        input=32.0,
        query=2.0,
        key=16.0,
        value=16.0,
        scores=32.0,
        context=8.0,
        middle=32.0,
        hidden=16.0,
        activated=16.0,
        output=32.0,
        attention_normed=normed,
        ffn_normed=normed,
        attention_variance=VARIANCE,
        ffn_variance=VARIANCE,
        score_variance=VARIANCE,
    )
    tokens = geometry.tokens
    layers = tuple(
        LayerPolicy(
            IntGrid.uniform(tokens, tokens, squarings), IntGrid.uniform(tokens, ffn_width, gelu_order), bounds
        )
        for ffn_width in geometry.ffn_widths
    )
    return DegreePolicy(layers, ModelBounds(normed, 32.0, VARIANCE))


def made_public(name: str, geometry: VitGeometry, policy: DegreePolicy) -> PublicPart:
    """All that costs depend on."""
    entries = tuple(
        replace(entry, frac_bits=WEIGHT_FRAC_BITS) if entry.dtype == "int16" else entry
        for entry in expected_weights(geometry)
    )
    labels = tuple(f"class {number}" for number in range(geometry.classes))
    return PublicPart(name, geometry, policy, entries, labels)


def write_made_model(folder: Path, public: PublicPart, seed: int) -> str:
    """Writes the artifact; gives its digest."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for entry in public.weights:
        scale = 0.02 * 2.0**entry.frac_bits
        tensors[entry.name] = np.rint(rng.normal(0.0, scale, entry.shape)).astype(entry.dtype)
    return write_artifact(folder, public, CLIENT, tensors)


def write_noise_picture(path: Path, geometry: VitGeometry, seed: int) -> Path:
    """A grey picture of noise that fits the geometry."""
    shape = (geometry.image_px, geometry.image_px)
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path
