"""Published shapes of models, by the names that the benches take."""

from degreespar.artifact import VitGeometry
from degreespar.errors import DegreeSparError

CLASSES = 10
_WIDTHS = {"vit-ti": (192, 3), "vit-s": (384, 6), "vit-b": (768, 12)}
"""Width and heads; the feed-forward network is four times as wide."""
DEPTH = 12
TOKENS = 197


def names() -> list[str]:
    """What `vit_geometry` knows."""
    return list(_WIDTHS)


def vit_geometry(name: str, layers: int = DEPTH) -> VitGeometry:
    """A ViT of 197 tokens: pictures of 28 x 28 grey pixels in patches of 2, as in our own training."""
    if name not in _WIDTHS:
        raise DegreeSparError(f"no geometry is called {name!r}; there are {', '.join(_WIDTHS)}")
    width, heads = _WIDTHS[name]
    return VitGeometry(
        image_px=28,
        patch_px=2,
        channels=1,
        width=width,
        heads=heads,
        ffn_widths=(4 * width,) * layers,
        classes=CLASSES,
        layer_norm_eps=1e-6,
    )
