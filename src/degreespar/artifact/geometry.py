"""The public shape of a vision transformer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from degreespar.artifact.errors import GeometryInvalidError, WrongFieldsError
from degreespar.degree.strict_json import take_float, take_int, take_list, take_object

# Far above every published ViT, far below what could exhaust a machine before a check fails.
MAX_IMAGE_PX = 1024
MAX_CHANNELS = 16
MAX_TOKENS = 2048
MAX_WIDTH = 8192
MAX_LAYERS = 64
MAX_FFN_WIDTH = 32768
MAX_CLASSES = 100_000
MAX_LAYER_NORM_EPS = 0.1


@dataclass(frozen=True)
class VitGeometry:
    """Square pictures, cut into square patches; one ffn width for each layer."""

    image_px: int
    patch_px: int
    channels: int
    width: int
    heads: int
    ffn_widths: tuple[int, ...]
    classes: int
    layer_norm_eps: float

    def __post_init__(self) -> None:
        _check_limits(self)
        if self.image_px % self.patch_px:
            raise GeometryInvalidError(
                f"pictures of {self.image_px} px cannot be cut into patches of {self.patch_px} px"
            )
        check_heads(self.width, self.heads)
        if self.tokens > MAX_TOKENS:
            raise GeometryInvalidError(f"{self.tokens} tokens are more than the limit of {MAX_TOKENS}")

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return len(self.ffn_widths)

    @property
    def patches(self) -> int:
        """How many patches a picture has."""
        return (self.image_px // self.patch_px) ** 2

    @property
    def tokens(self) -> int:
        """The patches and the class token."""
        return self.patches + 1

    @property
    def patch_values(self) -> int:
        """How many values a patch has."""
        return self.patch_px * self.patch_px * self.channels

    @property
    def head_width(self) -> int:
        """The width of one attention head."""
        return self.width // self.heads

    def to_json(self) -> dict[str, object]:
        """The geometry as JSON."""
        return {
            "image_px": self.image_px,
            "patch_px": self.patch_px,
            "channels": self.channels,
            "width": self.width,
            "heads": self.heads,
            "ffn_widths": list(self.ffn_widths),
            "classes": self.classes,
            "layer_norm_eps": self.layer_norm_eps,
        }

    @classmethod
    def from_json(cls, value: object, where: str) -> VitGeometry:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        integers = ("image_px", "patch_px", "channels", "width", "heads", "classes")
        keys = (*integers, "ffn_widths", "layer_norm_eps")
        parts = take_object(value, keys, where, WrongFieldsError)
        widths = take_list(parts["ffn_widths"], f"{where}.ffn_widths", WrongFieldsError)
        return cls(
            ffn_widths=tuple(take_int(width, f"{where}.ffn_widths", WrongFieldsError) for width in widths),
            layer_norm_eps=take_float(parts["layer_norm_eps"], f"{where}.layer_norm_eps", WrongFieldsError),
            **{key: take_int(parts[key], f"{where}.{key}", WrongFieldsError) for key in integers},
        )


def _check_limits(geometry: VitGeometry) -> None:
    check_count("image_px", geometry.image_px, MAX_IMAGE_PX)
    check_count("patch_px", geometry.patch_px, MAX_IMAGE_PX)
    check_count("channels", geometry.channels, MAX_CHANNELS)
    check_count("width", geometry.width, MAX_WIDTH)
    check_count("heads", geometry.heads, MAX_WIDTH)
    check_count("classes", geometry.classes, MAX_CLASSES)
    check_count("the number of layers", geometry.layers, MAX_LAYERS)
    for width in geometry.ffn_widths:
        check_count("an ffn width", width, MAX_FFN_WIDTH)
    check_eps(geometry.layer_norm_eps)


def check_eps(eps: float) -> None:
    """What is added to a variance must be small and positive."""
    if not (type(eps) is float and math.isfinite(eps) and 0.0 < eps <= MAX_LAYER_NORM_EPS):
        raise GeometryInvalidError(f"layer_norm_eps must lie in (0, {MAX_LAYER_NORM_EPS}], not {eps}")


def check_heads(width: int, heads: int) -> None:
    """All heads have the same width."""
    if width % heads:
        raise GeometryInvalidError(f"a width of {width} cannot be split among {heads} heads")


def check_count(name: str, value: int, limit: int) -> None:
    """A count is an integer from 1 to its limit."""
    if type(value) is not int or not 1 <= value <= limit:
        raise GeometryInvalidError(f"{name} must be an integer in 1..{limit}, not {value!r}")
