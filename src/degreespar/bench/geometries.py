"""Published shapes of models, by the names that the benches take."""

import math

from degreespar.artifact import VitGeometry
from degreespar.errors import DegreeSparError

CLASSES = 10
PATCH_PX = 2
_WIDTHS = {"vit-ti": (192, 3), "vit-s": (384, 6), "vit-b": (768, 12)}
"""Width and heads; the feed-forward network is four times as wide."""
DEPTH = 12
TOKENS = 197


def names() -> list[str]:
    """What `vit_geometry` knows."""
    return list(_WIDTHS)


def vit_geometry(
    name: str, layers: int = DEPTH, tokens: int | None = None, ffn_widths: tuple[int, ...] | None = None
) -> VitGeometry:
    """A ViT that cuts grey pictures into patches of 2 x 2: 197 tokens as in our own training, or others."""
    if name not in _WIDTHS:
        raise DegreeSparError(f"no geometry is called {name!r}; there are {', '.join(_WIDTHS)}")
    width, heads = _WIDTHS[name]
    side = math.isqrt((tokens or TOKENS) - 1)
    if side < 1 or side * side + 1 != (tokens or TOKENS):
        raise DegreeSparError(f"a ViT has a square number of patches and one token more, not {tokens} tokens")
    return VitGeometry(
        image_px=PATCH_PX * side,
        patch_px=PATCH_PX,
        channels=1,
        width=width,
        heads=heads,
        ffn_widths=ffn_widths or (4 * width,) * layers,
        classes=CLASSES,
        layer_norm_eps=1e-6,
    )
