"""What config.json and preprocessor_config.json say about a ViT, and how they are written."""

from __future__ import annotations

from pathlib import Path

from degreespar.artifact import VitGeometry
from degreespar.models.errors import CheckpointError
from degreespar.models.normalisation import Normalisation

ARCHITECTURE = "ViTForImageClassification"
# ViTImageProcessor's own default, for folders that name none.
DEFAULT_MEAN = DEFAULT_STD = 0.5
DEFAULT_EPS = 1e-12

Json = dict[str, object]


def read_geometry(path: Path, config: Json, classes: int) -> VitGeometry:
    """The geometry that a config describes; another architecture or another GeLU is refused."""
    _check_architecture(path, config)
    check_gelu(path, config)
    ffn_width = take_whole(path, config, "intermediate_size")
    return VitGeometry(
        image_px=_square(path, config, "image_size"),
        patch_px=_square(path, config, "patch_size"),
        channels=take_whole(path, config, "num_channels"),
        width=take_whole(path, config, "hidden_size"),
        heads=take_whole(path, config, "num_attention_heads"),
        ffn_widths=(ffn_width,) * take_whole(path, config, "num_hidden_layers"),
        classes=classes,
        layer_norm_eps=read_eps(path, config),
    )


def check_gelu(path: Path, config: Json) -> None:
    """Only the exact GeLU is approximated by our polynomials."""
    if config.get("hidden_act") != "gelu":
        raise CheckpointError(
            f"{path} asks for the activation {config.get('hidden_act')!r}; only 'gelu' is read"
        )


def read_eps(path: Path, config: Json) -> float:
    """What the layer norms add to a variance."""
    eps = config.get("layer_norm_eps", DEFAULT_EPS)
    if not isinstance(eps, float):
        raise CheckpointError(f"layer_norm_eps in {path} is not a number")
    return eps


def read_labels(path: Path, config: Json, classes: int) -> tuple[str, ...]:
    """The classes' names by number; LABEL_i where the config names none."""
    named = config.get("id2label")
    if named is None:
        return tuple(f"LABEL_{index}" for index in range(classes))
    numbers = [str(index) for index in range(classes)]
    if not isinstance(named, dict) or sorted(named) != sorted(numbers):
        raise CheckpointError(f"id2label in {path} does not name the {classes} classes of the classifier")
    return tuple(str(named[number]) for number in numbers)


def read_normalisation(path: Path, preprocessor: Json, channels: int) -> Normalisation:
    """Mean and deviation per channel; the image processor's defaults where the folder says nothing."""
    if preprocessor.get("do_rescale", True) is not True:
        raise CheckpointError(f"{path} feeds unscaled pixels; only pixels divided by 255 are supported")
    if preprocessor.get("do_normalize", True) is not True:
        return Normalisation((0.0,) * channels, (1.0,) * channels)
    return Normalisation(
        _per_channel(path, preprocessor, "image_mean", channels, DEFAULT_MEAN),
        _per_channel(path, preprocessor, "image_std", channels, DEFAULT_STD),
    )


def config_json(geometry: VitGeometry, labels: tuple[str, ...]) -> Json:
    """The config that transformers builds the same model from."""
    if len(set(geometry.ffn_widths)) != 1:
        raise CheckpointError("a Hugging Face config has one FFN width, this model's layers differ in theirs")
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "vit",
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "qkv_bias": True,
        "image_size": geometry.image_px,
        "patch_size": geometry.patch_px,
        "num_channels": geometry.channels,
        "hidden_size": geometry.width,
        "num_attention_heads": geometry.heads,
        "num_hidden_layers": geometry.layers,
        "intermediate_size": geometry.ffn_widths[0],
        "layer_norm_eps": geometry.layer_norm_eps,
        "id2label": {str(index): label for index, label in enumerate(labels)},
        "label2id": {label: index for index, label in enumerate(labels)},
    }


def preprocessor_json(geometry: VitGeometry, normalisation: Normalisation) -> Json:
    """The image processor's config."""
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": geometry.image_px, "width": geometry.image_px},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(normalisation.mean),
        "image_std": list(normalisation.std),
    }


def _check_architecture(path: Path, config: Json) -> None:
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else config.get("model_type")
    if config.get("model_type") == "deit":
        raise CheckpointError(
            f"{path} describes {first}, whose distillation token is not supported; "
            f"use a DeiT published as {ARCHITECTURE}"
        )
    if config.get("model_type") != "vit" or first not in (ARCHITECTURE, "vit"):
        raise CheckpointError(f"{path} describes {first}; only {ARCHITECTURE} is supported")


def take_whole(path: Path, config: Json, key: str) -> int:
    """An integer of the config."""
    value = config.get(key)
    if type(value) is not int:
        raise CheckpointError(f"{key} in {path} must be an integer, not {value!r}")
    return value


def _square(path: Path, config: Json, key: str) -> int:
    value = config.get(key)
    if isinstance(value, list) and len(value) == 2:
        if value[0] != value[1]:
            raise CheckpointError(f"{key} in {path} is {value}; only squares are supported")
        return take_whole(path, {key: value[0]}, key)
    return take_whole(path, config, key)


def _per_channel(path: Path, config: Json, key: str, channels: int, default: float) -> tuple[float, ...]:
    values = config.get(key)
    if values is None:
        return (default,) * channels
    numbers = isinstance(values, list) and all(isinstance(value, float | int) for value in values)
    if not numbers or len(values) != channels:  # type: ignore[arg-type]
        raise CheckpointError(f"{key} in {path} must be a list of {channels} numbers, not {values!r}")
    return tuple(float(value) for value in values)  # type: ignore[attr-defined]
