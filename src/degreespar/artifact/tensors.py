"""The server's weights as bytes: safetensors, checked against the manifest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from degreespar.artifact.errors import BiasTooLargeError, TensorFileInvalidError, TensorsMismatchError
from degreespar.artifact.manifest import WeightEntry

Tensor = NDArray[np.int16] | NDArray[np.int64]

# A header of names and offsets needs far less; the rest of the file is the tensors themselves.
MAX_HEADER_BYTES = 1 << 20
LARGEST_BIAS = 1 << 40


def tensors_to_bytes(tensors: Mapping[str, NDArray[np.generic]], weights: tuple[WeightEntry, ...]) -> bytes:
    """The file's bytes: safetensors orders by type and name, so equal tensors give equal bytes."""
    _check(tensors, weights)
    return bytes(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def tensors_from_bytes(
    content: bytes, weights: tuple[WeightEntry, ...], where: str
) -> dict[str, NDArray[np.generic]]:
    """The tensors in the manifest's order, checked."""
    try:
        tensors: dict[str, NDArray[np.generic]] = load(content)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise TensorFileInvalidError(f"{where} is truncated or no safetensors file") from error
    _check(tensors, weights)
    return {entry.name: tensors[entry.name] for entry in weights}


def _check(tensors: Mapping[str, NDArray[np.generic]], weights: tuple[WeightEntry, ...]) -> None:
    names = {entry.name for entry in weights}
    unknown = sorted(set(tensors) - names)
    if unknown:
        raise TensorsMismatchError(f"the tensor {unknown[0][:80]!r} is not in the list of weights")
    for entry in weights:
        if entry.name not in tensors:
            raise TensorsMismatchError(f"the tensor {entry.name} is missing")
        _check_tensor(tensors[entry.name], entry)


def _check_tensor(array: NDArray[np.generic], entry: WeightEntry) -> None:
    if array.shape != entry.shape or array.dtype != np.dtype(entry.dtype):
        raise TensorsMismatchError(
            f"the tensor {entry.name} is {array.dtype} of shape {array.shape},"
            f" but must be {entry.dtype} of shape {entry.shape}"
        )
    if entry.dtype != "int64":
        return
    # Two comparisons, not `abs`: the absolute value of the smallest int64 is negative.
    if int(array.max()) >= LARGEST_BIAS or int(array.min()) <= -LARGEST_BIAS:
        raise BiasTooLargeError(f"{entry.name} holds a value of 2^40 or more")
