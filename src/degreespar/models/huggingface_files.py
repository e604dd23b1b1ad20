"""The files of a Hugging Face folder, read with one clear sentence for whatever is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from degreespar.models.errors import CheckpointError

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"


def read_json(path: Path) -> dict[str, object]:
    """A JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing, and a checkpoint folder needs it") from error
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} does not hold a JSON object")
    return value


def write_json(path: Path, value: dict[str, object]) -> None:
    """A JSON object, for people to read too."""
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint."""
    path = folder / WEIGHTS_FILE
    if not path.exists():
        other = folder / "pytorch_model.bin"
        hint = ": save the model as safetensors, pickles are not read" if other.exists() else ""
        raise CheckpointError(f"{path} is missing{hint}")
    try:
        return load_file(str(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} is not a complete safetensors file") from error


class Taken:
    """The tensors of a file, taken one by one with their shapes checked."""

    def __init__(self, path: Path, tensors: dict[str, Tensor], unused: tuple[str, ...]) -> None:
        self.path = path
        self.left = {k: v for k, v in tensors.items() if not k.startswith(unused)}

    def take(self, name: str, *shape: int) -> Tensor:
        """The tensor of this name, which must have this shape."""
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
        """Nothing may be left over."""
        if self.left:
            raise CheckpointError(
                f"{self.path} has a tensor {min(self.left)} that its config does not explain"
            )


def take_pair(taken: Taken, state: dict[str, Tensor], ours: str, theirs: str, shape: tuple[int, ...]) -> None:
    """A weight of this shape, and its bias."""
    state[f"{ours}.weight"] = taken.take(f"{theirs}.weight", *shape)
    state[f"{ours}.bias"] = taken.take(f"{theirs}.bias", shape[0])


def take_query_key_value(
    taken: Taken, state: dict[str, Tensor], ours: str, theirs: str, width: int, bias: bool
) -> None:
    """Three matrices as the one that we keep."""
    names = [f"{theirs}.{part}" for part in ("query", "key", "value")]
    state[f"{ours}.weight"] = torch.cat([taken.take(f"{name}.weight", width, width) for name in names])
    state[f"{ours}.bias"] = (
        torch.cat([taken.take(f"{name}.bias", width) for name in names]) if bias else torch.zeros(3 * width)
    )


def split_query_key_value(state: dict[str, Tensor], ours: str, theirs: str) -> dict[str, Tensor]:
    """The way back."""
    return {
        f"{theirs}.{part}.{kind}": value
        for kind in ("weight", "bias")
        for part, value in zip(("query", "key", "value"), state[f"{ours}.{kind}"].chunk(3), strict=True)
    }


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """A model's parameters in float32, on the CPU."""
    return {name: value.detach().cpu().float() for name, value in model.state_dict().items()}


def write_tensors(folder: Path, tensors: dict[str, Tensor]) -> None:
    """The folder's weights; the folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {name: value.contiguous() for name, value in tensors.items()}
    save_file(whole, str(folder / WEIGHTS_FILE), metadata={"format": "pt"})
