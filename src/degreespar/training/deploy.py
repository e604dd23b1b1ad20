"""From a finished run to an artifact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from degreespar.artifact.bert_geometry import PRIVATE_TABLE, PUBLIC_TABLE
from degreespar.models.bert import Bert
from degreespar.models.huggingface_bert import TextCheckpoint
from degreespar.models.vit import Vit
from degreespar.training.errors import RunError
from degreespar.training.export import write_calibrated
from degreespar.training.export_text import write_calibrated_text
from degreespar.training.finish import read_result
from degreespar.training.run_folder import RunFolder
from degreespar.training.session import SOURCE
from degreespar.training.sources import open_model


def export_run(run: Path, directory: Path, name: str) -> str:
    """Write the run's result as an artifact and give its digest."""
    folder = RunFolder(run)
    checkpoint = open_model(run / SOURCE, folder.config().get("tokens") if folder.begun else None)
    result = read_result(folder, checkpoint.model)
    if isinstance(checkpoint, TextCheckpoint):
        if not isinstance(result.model, Bert):
            raise RunError(f"the result in {run} is none of a BERT")
        text = replace(checkpoint, model=result.model)
        policies = {result.model.geometry.tokens: result.policy}
        table = PUBLIC_TABLE if folder.config()["recipe"].get("public_table") else PRIVATE_TABLE
        return write_calibrated_text(directory, name, text, policies, table)
    if not isinstance(result.model, Vit):
        raise RunError(f"the result in {run} is none of a ViT")
    return write_calibrated(directory, name, replace(checkpoint, model=result.model), result.policy)
