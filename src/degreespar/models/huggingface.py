"""Hugging Face folders of ViTForImageClassification.

Read and written without `transformers`, so that no other program's defaults decide what a checkpoint means.
DeiT without a distillation token is published as ViTForImageClassification, and so read here too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
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
from degreespar.models.normalisation import Normalisation
from degreespar.models.vit import Vit

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
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
    config = _read_json(folder / CONFIG_FILE)
    tensors = _read_tensors(folder)
    classes = _classes(folder, tensors)
    geometry = read_geometry(folder / CONFIG_FILE, config, classes)
    # One class token and one row per patch: a distilled DeiT has a row more, refused by its shape.
    state = _to_state(folder, tensors, geometry, config.get("qkv_bias") is not False)
    model = Vit(geometry)
    model.load_state_dict(state)
    model.eval()
    path = folder / PREPROCESSOR_FILE
    preprocessor = _read_json(path) if path.exists() else {}
    return Checkpoint(
        model,
        read_labels(folder / CONFIG_FILE, config, classes),
        read_normalisation(path, preprocessor, geometry.channels),
    )


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the folder that `load_checkpoint` and transformers read; parameters in float32."""
    model = checkpoint.model
    tensors = {name: value.contiguous() for name, value in _from_model(model).items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(folder / WEIGHTS_FILE), metadata={"format": "pt"})
    _write_json(folder / CONFIG_FILE, config_json(model.geometry, checkpoint.labels))
    normalisation = preprocessor_json(model.geometry, checkpoint.normalisation)
    _write_json(folder / PREPROCESSOR_FILE, normalisation)


def _read_json(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing, and a checkpoint folder needs it") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} does not hold a JSON object")
    return value


def _write_json(path: Path, value: dict[str, object]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    path = folder / WEIGHTS_FILE
    if not path.exists():
        other = folder / "pytorch_model.bin"
        hint = ": save the model as safetensors, pickles are not read" if other.exists() else ""
        raise CheckpointError(f"{path} is missing{hint}")
    try:
        return load_file(str(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} is not a complete safetensors file") from error


def _classes(folder: Path, tensors: dict[str, Tensor]) -> int:
    head = tensors.get("classifier.weight")
    if head is None or head.ndim != 2:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} has no classifier: fine-tune the model on labels first"
        )
    return len(head)


class _Taken:
    """The tensors of a file, taken one by one with their shapes checked."""

    def __init__(self, path: Path, tensors: dict[str, Tensor]) -> None:
        self.path = path
        self.left = {k: v for k, v in tensors.items() if not k.startswith(UNUSED_PREFIX)}

    def take(self, name: str, *shape: int) -> Tensor:
        tensor = self.left.pop(name, None)
        if tensor is None:
            raise CheckpointError(f"{self.path} has no tensor {name}")
        if tuple(tensor.shape) != shape or not tensor.is_floating_point():
            raise CheckpointError(
                f"{name} in {self.path} is {tensor.dtype} of shape {tuple(tensor.shape)}, "
                f"not floating point of shape {shape}"
            )
        if not bool(torch.isfinite(tensor).all()):
            raise CheckpointError(f"{name} in {self.path} has values that are not finite")
        return tensor.float()

    def finish(self) -> None:
        if self.left:
            raise CheckpointError(
                f"{self.path} has a tensor {min(self.left)} that its config does not explain"
            )


def _to_state(
    folder: Path, tensors: dict[str, Tensor], geometry: VitGeometry, qkv_bias: bool
) -> dict[str, Tensor]:
    taken = _Taken(folder / WEIGHTS_FILE, tensors)
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
            _take_pair(taken, state, f"layers.{index}.{ours}", _layer(index, theirs), shapes[ours])
        _take_query_key_value(taken, state, index, width, qkv_bias)
    shapes = {"final_norm": (width,), "head": (geometry.classes, width)}
    for ours, theirs in MODEL_NAMES.items():
        _take_pair(taken, state, ours, theirs, shapes[ours])
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


def _take_pair(
    taken: _Taken, state: dict[str, Tensor], ours: str, theirs: str, shape: tuple[int, ...]
) -> None:
    state[f"{ours}.weight"] = taken.take(f"{theirs}.weight", *shape)
    state[f"{ours}.bias"] = taken.take(f"{theirs}.bias", shape[0])


def _take_query_key_value(
    taken: _Taken, state: dict[str, Tensor], index: int, width: int, qkv_bias: bool
) -> None:
    names = [_layer(index, f"attention.attention.{part}") for part in ("query", "key", "value")]
    prefix = f"layers.{index}.attention.query_key_value"
    state[f"{prefix}.weight"] = torch.cat([taken.take(f"{name}.weight", width, width) for name in names])
    state[f"{prefix}.bias"] = (
        torch.cat([taken.take(f"{name}.bias", width) for name in names])
        if qkv_bias
        else torch.zeros(3 * width)
    )


def _from_model(model: Vit) -> dict[str, Tensor]:
    geometry, state = model.geometry, {k: v.detach().cpu().float() for k, v in model.state_dict().items()}
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
            parts = state[f"layers.{index}.attention.query_key_value.{kind}"].chunk(3)
            for part, value in zip(("query", "key", "value"), parts, strict=True):
                tensors[_layer(index, f"attention.attention.{part}.{kind}")] = value
    for ours, theirs in MODEL_NAMES.items():
        for kind in ("weight", "bias"):
            tensors[f"{theirs}.{kind}"] = state[f"{ours}.{kind}"]
    return tensors
