"""From a trained ViT, a policy and calibration pictures to the artifact that is deployed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from degreespar.artifact import (
    BIAS_FRAC_BITS,
    MAX_WEIGHT_FRAC_BITS,
    SCORES,
    ClientPart,
    PublicPart,
    WeightEntry,
    expected_weights,
    write_artifact,
)
from degreespar.degree import DegreePolicy
from degreespar.models.huggingface import Checkpoint
from degreespar.numerics import encode
from degreespar.training.calibrate import calibrated
from degreespar.training.errors import ExportError
from degreespar.training.fold import Affine, Reals, folded

INT16_MAX = 32767
INPUT_FRAC_BITS = 12
Integers = npt.NDArray[np.int16] | npt.NDArray[np.int64]


def export_artifact(
    directory: Path,
    name: str,
    checkpoint: Checkpoint,
    policy: DegreePolicy,
    batches: Iterable[Tensor],
    reveal: str = SCORES,
) -> str:
    """Calibrate on `batches` (normalised pixels), fold, quantise and write; gives the artifact's digest."""
    model = checkpoint.model
    offsets = bias_offsets(folded(model), model.geometry.width)
    return write_calibrated(directory, name, checkpoint, calibrated(model, policy, batches, offsets), reveal)


def write_calibrated(
    directory: Path, name: str, checkpoint: Checkpoint, policy: DegreePolicy, reveal: str = SCORES
) -> str:
    """The same for a policy whose bounds are known."""
    model = checkpoint.model
    tensors, entries = quantised(folded(model), expected_weights(model.geometry))
    public = PublicPart(name, model.geometry, policy, entries, checkpoint.labels, reveal=reveal)
    normalisation = checkpoint.normalisation
    client = ClientPart(normalisation.mean, normalisation.std, INPUT_FRAC_BITS)
    return write_artifact(directory, public, client, tensors)


def bias_offsets(maps: dict[str, Affine], width: int) -> dict[str, float]:
    """The largest |bias| behind each point whose value is an affine map's output."""
    offsets = {"logits": largest(maps["head"].bias)}
    for name, part in maps.items():
        layer, _, kind = name.rpartition(".")
        if kind == "query_key_value":
            for third, point in enumerate(("query", "key", "value")):
                offsets[f"{layer}.{point}"] = largest(part.bias[third * width : (third + 1) * width])
        elif kind in ("projection", "expand", "contract"):
            point = {"projection": "middle", "expand": "hidden", "contract": "output"}[kind]
            offsets[f"{layer}.{point}"] = largest(part.bias)
    return offsets


def quantised(
    maps: dict[str, Affine], expected: tuple[WeightEntry, ...]
) -> tuple[dict[str, Integers], tuple[WeightEntry, ...]]:
    """The integer tensors, and the manifest with each weight's fraction bits."""
    tensors: dict[str, Integers] = {}
    entries = []
    for entry in expected:
        real = real_tensor(maps, entry.name)
        if entry.dtype == "int16":
            tensors[entry.name], frac_bits = quantised_weight(entry.name, real)
            entries.append(replace(entry, frac_bits=frac_bits))
        else:
            tensors[entry.name] = encode(real, BIAS_FRAC_BITS)
            entries.append(entry)
    return tensors, tuple(entries)


def real_tensor(maps: dict[str, Affine], name: str) -> Reals:
    """The weight or bias that an artifact's tensor name means."""
    place, _, kind = name.rpartition(".")
    part = maps["embedding" if place == "patch" else place]
    return part.weight if kind == "weight" else part.bias


def quantised_weight(name: str, real: Reals) -> tuple[npt.NDArray[np.int16], int]:
    """int16 with the most fraction bits, at most 14, that its largest entry leaves room for."""
    most = largest(real)
    for frac_bits in range(MAX_WEIGHT_FRAC_BITS, -1, -1):
        if most * 2.0**frac_bits <= INT16_MAX:
            return encode(real, frac_bits).astype(np.int16), frac_bits
    raise ExportError(f"{name} has a weight of {most}, beyond what 16 bits can hold")


def largest(values: Reals) -> float:
    """The largest |entry|."""
    return float(np.abs(values).max())
