"""From a trained BERT, a policy for each length class and calibration texts to an artifact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from degreespar.artifact import SCORES, PublicPart, TextPart, expected_weights, write_artifact
from degreespar.degree import DegreePolicy
from degreespar.models.huggingface_bert import TextCheckpoint
from degreespar.numerics import encode
from degreespar.program.units import INPUT_FRAC
from degreespar.training.calibrate import calibrated
from degreespar.training.errors import ExportError
from degreespar.training.export import largest, quantised
from degreespar.training.fold import Affine, Reals
from degreespar.training.fold_bert import folded_bert

Batches = Callable[[int], Iterable[Tensor]]
"""Calibration texts [batch, 2, tokens] of a length class."""


def export_text_artifact(
    directory: Path,
    name: str,
    checkpoint: TextCheckpoint,
    policies: Mapping[int, DegreePolicy],
    batches: Batches,
    embedding: str,
    reveal: str = SCORES,
) -> str:
    """Calibrate each length class, fold, quantise and write; gives the artifact's digest.

    With a public `embedding` the tables of words and segments are handed to clients as they are: a model
    whose tables were trained on private data needs a private one.
    """
    model = checkpoint.model
    offsets = text_offsets(folded_bert(model), model.geometry.width, model.geometry.ffn_widths)
    bounded = {
        tokens: calibrated(model.at_length(tokens), policy, batches(tokens), offsets)
        for tokens, policy in policies.items()
    }
    return write_calibrated_text(directory, name, checkpoint, bounded, embedding, reveal)


def write_calibrated_text(
    directory: Path,
    name: str,
    checkpoint: TextCheckpoint,
    policies: Mapping[int, DegreePolicy],
    embedding: str,
    reveal: str = SCORES,
) -> str:
    """The same for policies whose bounds are known."""
    model, lengths = checkpoint.model, tuple(sorted(policies))
    geometry = replace(model.geometry, length_classes=lengths, embedding=embedding)
    maps, bounded = folded_bert(model), [policies[tokens] for tokens in lengths]
    tensors, entries = quantised(maps, expected_weights(geometry))
    *shorter, longest = bounded
    public = PublicPart(
        name, geometry, longest, entries, checkpoint.labels, shorter_policies=tuple(shorter), reveal=reveal
    )
    return write_artifact(directory, public, text_part(checkpoint, maps, geometry.has_public_table), tensors)


def text_part(checkpoint: TextCheckpoint, maps: dict[str, Affine], with_table: bool) -> TextPart:
    """What the client holds."""
    tokeniser = checkpoint.tokeniser
    if not with_table:
        return TextPart(tokeniser.vocabulary, tokeniser.lower_case, None)
    table, frac_bits = quantised_table(maps["table"].weight)
    return TextPart(tokeniser.vocabulary, tokeniser.lower_case, frac_bits, table)


def quantised_table(real: Reals) -> tuple[npt.NDArray[np.int8] | npt.NDArray[np.int16], int]:
    """int8 where it holds every entry exactly, else int16 with the most fraction bits that fit."""
    most = largest(real)
    for frac_bits in range(INPUT_FRAC + 1):
        units = encode(real, frac_bits)
        if np.array_equal(units / 2.0**frac_bits, real) and most * 2.0**frac_bits <= 127:
            return units.astype(np.int8), frac_bits
    for frac_bits in range(INPUT_FRAC, -1, -1):
        if most * 2.0**frac_bits <= 32767:
            return encode(real, frac_bits).astype(np.int16), frac_bits
    raise ExportError(f"the table has an entry of {most}, beyond what 16 bits can hold")


def text_offsets(maps: dict[str, Affine], width: int, ffn_widths: tuple[int, ...]) -> dict[str, float]:
    """The largest |bias| behind each point whose value is an affine map's output."""
    offsets = {"pooled": largest(maps["pooler"].bias), "logits": largest(maps["head"].bias)}
    for layer, ffn_width in enumerate(ffn_widths):
        prefix = f"layers.{layer}"
        both = maps[f"{prefix}.query_key_value"].bias
        for number, point in enumerate(("query", "key", "value", "input")):
            offsets[f"{prefix}.{point}"] = largest(both[number * width : (number + 1) * width])
        expand = maps[f"{prefix}.expand"].bias
        offsets[f"{prefix}.hidden"] = largest(expand[:ffn_width])
        projection = largest(maps[f"{prefix}.projection"].bias)
        offsets[f"{prefix}.middle"] = max(projection, largest(expand[ffn_width:]))
        offsets[f"{prefix}.output"] = largest(maps[f"{prefix}.contract"].bias)
    return offsets
