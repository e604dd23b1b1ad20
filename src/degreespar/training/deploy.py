"""From a finished run to an artifact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from degreespar.artifact.bert_geometry import PRIVATE_TABLE, PUBLIC_TABLE
from degreespar.degree import DegreePolicy
from degreespar.models.bert import Bert
from degreespar.models.huggingface import Checkpoint
from degreespar.models.huggingface_bert import TextCheckpoint
from degreespar.models.vit import Vit
from degreespar.training.errors import RunError
from degreespar.training.export import write_calibrated
from degreespar.training.export_text import write_calibrated_text
from degreespar.training.finish import RESULT, read_result
from degreespar.training.run_folder import FINAL, RunFolder
from degreespar.training.session import SOURCE
from degreespar.training.sources import open_model


def export_run(run: Path, directory: Path, name: str) -> str:
    """Write the run's result as an artifact and give its digest."""
    folder = RunFolder(run)
    checkpoint, policy = compressed(run)
    if isinstance(checkpoint, TextCheckpoint):
        policies = {checkpoint.model.geometry.tokens: policy}
        table = PUBLIC_TABLE if folder.config()["recipe"].get("public_table") else PRIVATE_TABLE
        return write_calibrated_text(directory, name, checkpoint, policies, table)
    return write_calibrated(directory, name, checkpoint, policy)


def compressed(run: Path) -> tuple[Checkpoint | TextCheckpoint, DegreePolicy]:
    """The result of a finished run: its model, with what goes with one, and its policy."""
    folder = RunFolder(run)
    source = open_model(run / SOURCE, folder.config().get("tokens") if folder.begun else None)
    result = read_result(folder, source.model)
    if isinstance(source, TextCheckpoint) and isinstance(result.model, Bert):
        return replace(source, model=result.model), result.policy
    if isinstance(source, Checkpoint) and isinstance(result.model, Vit):
        return replace(source, model=result.model), result.policy
    raise RunError(f"the result in {run} is not of the kind of its source")


def float_model(folder: Path, tokens: int | None, hard: bool) -> Checkpoint | TextCheckpoint:
    """What an artifact was made from: a checkpoint, or of a run its result (`hard`) or what it began with."""
    if not (folder / FINAL / RESULT).exists():
        return open_model(folder, tokens)
    return compressed(folder)[0] if hard else open_model(folder / SOURCE, tokens)
