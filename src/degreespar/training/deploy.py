"""From a finished run to an artifact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from degreespar.training.export import write_calibrated
from degreespar.training.finish import read_result
from degreespar.training.run_folder import RunFolder
from degreespar.training.session import SOURCE
from degreespar.training.sources import open_model


def export_run(run: Path, directory: Path, name: str) -> str:
    """Write the run's result as an artifact and give its digest."""
    checkpoint = open_model(run / SOURCE)
    result = read_result(RunFolder(run), checkpoint.model)
    return write_calibrated(directory, name, replace(checkpoint, model=result.model), result.policy)
