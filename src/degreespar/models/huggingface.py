"""Hugging Face folders of ViTForImageClassification.

Read and written without `transformers`, so that no other program's defaults decide what a checkpoint means.
DeiT without a distillation token is published as ViTForImageClassification, and so read here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from degreespar.artifact import VitGeometry
from degreespar.models.errors import CheckpointError
from degreespar.models.huggingface_config import (
    config_json,
    preprocessor_json,
    read_geometry,
    read_labels,
    read_normalisation,
)
from degreespar.models.huggingface_files import (
    CONFIG_FILE,
    WEIGHTS_FILE,
    Taken,
    read_json,
    read_tensors,
    split_query_key_value,
    state_of,
    take_pair,
    take_query_key_value,
    write_json,
    write_tensors,
)
from degreespar.models.normalisation import Normalisation
from degreespar.models.vit import Vit

PREPROCESSOR_FILE = "preprocessor_config.json"
# Published with some checkpoints, and not used by the classifier.
UNUSED_PREFIX = "vit.pooler."

LAYER_NAMES = {
    "attention_norm": "layernorm_before",
    "attention.projection": "attention.output.dense",
    "ffn_norm": "layernorm_after",
    "expand": "intermediate.dense",
    "contract": "output.dense",
}
MODEL_NAMES = {"final_norm": "vit.layernorm", "head": "classifier"}


@dataclass(frozen=True)
class Checkpoint:
    """A classifier with what belongs to it: the names of its classes and how pictures are fed to it."""

    model: Vit
    labels: tuple[str, ...]
    normalisation: Normalisation


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a folder as `save_pretrained` writes it; anything else is a CheckpointError in one sentence."""
    config = read_json(folder / CONFIG_FILE)
    tensors = read_tensors(folder)
    classes = _classes(folder, tensors)
    geometry = read_geometry(folder / CONFIG_FILE, config, classes)
    # One class token and one row per patch: a distilled DeiT has a row more, refused by its shape.
    state = _to_state(folder, tensors, geometry, config.get("qkv_bias") is not False)
    model = Vit(geometry)
    model.load_state_dict(state)
    model.eval()
    path = folder / PREPROCESSOR_FILE
    preprocessor = read_json(path) if path.exists() else {}
    return Checkpoint(
        model,
        read_labels(folder / CONFIG_FILE, config, classes),
        read_normalisation(path, preprocessor, geometry.channels),
    )


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the folder that `load_checkpoint` and transformers read; parameters in float32."""
    model = checkpoint.model
    write_tensors(folder, _from_model(model))
    write_json(folder / CONFIG_FILE, config_json(model.geometry, checkpoint.labels))
    normalisation = preprocessor_json(model.geometry, checkpoint.normalisation)
    write_json(folder / PREPROCESSOR_FILE, normalisation)


def _classes(folder: Path, tensors: dict[str, Tensor]) -> int:
    head = tensors.get("classifier.weight")
    if head is None or head.ndim != 2:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} has no classifier: fine-tune the model on labels first"
        )
    return len(head)


def _to_state(
    folder: Path, tensors: dict[str, Tensor], geometry: VitGeometry, qkv_bias: bool
) -> dict[str, Tensor]:
    taken = Taken(folder / WEIGHTS_FILE, tensors, (UNUSED_PREFIX,))
    width, patch_px = geometry.width, geometry.patch_px
    embeddings = "vit.embeddings"
    kernel = taken.take(
        f"{embeddings}.patch_embeddings.projection.weight", width, geometry.channels, patch_px, patch_px
    )
    state = {
        "patch.weight": kernel.permute(0, 2, 3, 1).reshape(width, -1),
        "patch.bias": taken.take(f"{embeddings}.patch_embeddings.projection.bias", width),
        "class_token": taken.take(f"{embeddings}.cls_token", 1, 1, width)[0, 0],
        "positions": taken.take(f"{embeddings}.position_embeddings", 1, geometry.tokens, width)[0],
    }
    for index, ffn_width in enumerate(geometry.ffn_widths):
        shapes = _layer_shapes(width, ffn_width)
        for ours, theirs in LAYER_NAMES.items():
            take_pair(taken, state, f"layers.{index}.{ours}", _layer(index, theirs), shapes[ours])
        ours, theirs = f"layers.{index}.attention.query_key_value", _layer(index, "attention.attention")
        take_query_key_value(taken, state, ours, theirs, width, qkv_bias)
    shapes = {"final_norm": (width,), "head": (geometry.classes, width)}
    for ours, theirs in MODEL_NAMES.items():
        take_pair(taken, state, ours, theirs, shapes[ours])
    taken.finish()
    return state


def _layer(index: int, name: str) -> str:
    return f"vit.encoder.layer.{index}.{name}"


def _layer_shapes(width: int, ffn_width: int) -> dict[str, tuple[int, ...]]:
    return {
        "attention_norm": (width,),
        "attention.projection": (width, width),
        "ffn_norm": (width,),
        "expand": (ffn_width, width),
        "contract": (width, ffn_width),
    }


def _from_model(model: Vit) -> dict[str, Tensor]:
    geometry, state = model.geometry, state_of(model)
    width, patch_px, embeddings = geometry.width, geometry.patch_px, "vit.embeddings"
    kernel = state["patch.weight"].view(width, patch_px, patch_px, geometry.channels)
    tensors = {
        f"{embeddings}.patch_embeddings.projection.weight": kernel.permute(0, 3, 1, 2),
        f"{embeddings}.patch_embeddings.projection.bias": state["patch.bias"],
        f"{embeddings}.cls_token": state["class_token"].view(1, 1, width),
        f"{embeddings}.position_embeddings": state["positions"][None],
    }
    for index in range(geometry.layers):
        for kind in ("weight", "bias"):
            for ours, theirs in LAYER_NAMES.items():
                tensors[f"{_layer(index, theirs)}.{kind}"] = state[f"layers.{index}.{ours}.{kind}"]
        ours, theirs = f"layers.{index}.attention.query_key_value", _layer(index, "attention.attention")
        tensors |= split_query_key_value(state, ours, theirs)
    for ours, theirs in MODEL_NAMES.items():
        for kind in ("weight", "bias"):
            tensors[f"{theirs}.{kind}"] = state[f"{ours}.{kind}"]
    return tensors
