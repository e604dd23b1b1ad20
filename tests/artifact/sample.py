"""A small artifact, sound in every part, for tests to break."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from degreespar.artifact import ClientPart, PublicPart, VitGeometry, expected_weights, write_artifact
from degreespar.degree import DegreePolicy, IntGrid, LayerBounds, LayerPolicy, ModelBounds, Selection

GEOMETRY = VitGeometry(
    image_px=8, patch_px=4, channels=3, width=6, heads=2, ffn_widths=(5, 7), classes=3, layer_norm_eps=1e-6
)


@dataclass(frozen=True)
class Parts:
    """What an artifact is written from."""

    public: PublicPart
    client: ClientPart
    tensors: dict[str, np.ndarray]

    def write(self, directory: Path) -> str:
        return write_artifact(directory, self.public, self.client, self.tensors)


def policy_of(geometry: VitGeometry) -> DegreePolicy:
    """Different degrees inside one layer and between layers."""
    names = "input query key value scores context middle hidden activated output attention_normed ffn_normed"
    bounds = LayerBounds(
        **dict.fromkeys(names.split(), 8.0),
        attention_variance=(0.125, 8.0),
        ffn_variance=(0.5, 2.0),
        score_variance=(0.25, 4.0),
    )
    layers, tokens = [], geometry.tokens
    for index, ffn_width in enumerate(geometry.ffn_widths):
        # All layers but the last drop a token, and keep the others in two ranges.
        last = index == geometry.layers - 1
        selection = None if last or tokens < 4 else Selection((tokens - 3, 1), 0.75)
        kept = selection.kept_tokens if selection else tokens
        squarings = np.full((tokens, tokens), 5 - index % 3)
        squarings[0, 1:] = -1
        orders = np.full((kept, ffn_width), 4)
        orders[1:, ::2] = 2
        layers.append(LayerPolicy(IntGrid(squarings), IntGrid(orders), bounds, selection))
        tokens = kept
    return DegreePolicy(tuple(layers), ModelBounds(4.0, 16.0, (0.25, 4.0)))


def parts_of(geometry: VitGeometry, seed: int = 1) -> Parts:
    """Random weights of full size."""
    generator = np.random.default_rng(seed)
    weights = expected_weights(geometry)
    tensors = {
        entry.name: generator.integers(-(2**15), 2**15, entry.shape).astype(entry.dtype) for entry in weights
    }
    public = PublicPart(
        name="small",
        geometry=geometry,
        policy=policy_of(geometry),
        weights=weights,
        labels=tuple(f"class {index} \u00e9" for index in range(geometry.classes)),
    )
    client = ClientPart(mean=(0.5,) * geometry.channels, std=(0.25,) * geometry.channels, input_frac_bits=8)
    return Parts(public, client, tensors)
