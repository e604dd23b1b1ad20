"""From a finished run to an artifact that the fixed-point engine answers with."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from degreespar.artifact import read_server
from degreespar.models import Checkpoint, Normalisation, save_checkpoint
from degreespar.models.vit import patch_vectors
from degreespar.numerics import encode
from degreespar.party.oracle import Oracle
from degreespar.training.compress import Compression
from degreespar.training.deploy import export_run
from degreespar.training.errors import RunError
from degreespar.training.export import INPUT_FRAC_BITS
from degreespar.training.finish import finish
from degreespar.training.session import SOURCE, copy_source
from tests.training.tiny import GEOMETRY, made_recipe, made_run, trained_model

# A Hugging Face folder has one FFN width for all layers.
EVEN = replace(GEOMETRY, ffn_widths=(20, 20, 20))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Compression:
    folder = tmp_path_factory.mktemp("runs")
    model = trained_model(EVEN)
    save_checkpoint(
        folder / "model", Checkpoint(model, ("left", "middle", "right"), Normalisation((0.4,), (0.3,)))
    )
    recipe = made_recipe()
    run = made_run(
        folder / "run", replace(recipe, sparsify=replace(recipe.sparsify, target_ratio=0.25)), model
    )
    copy_source(folder / "model", folder / "run" / SOURCE)
    run.run()
    finish(run, lambda text: None)
    return run


def test_the_fixed_point_engine_answers_as_the_learned_model_does(
    finished: Compression, tmp_path: Path
) -> None:
    digest = export_run(finished.folder.path, tmp_path / "model", "light")
    public, tensors, found = read_server(tmp_path / "model")
    assert found == digest
    layers = public.policy.layers
    assert min(int(layer.squarings.values.min()) for layer in layers) < 2
    assert sum(public.geometry.ffn_widths) < 60
    assert any(layer.selection is not None for layer in layers)
    assert layers[-1].tokens < 17
    inputs, _ = finished.task.test.take(torch.arange(40))
    assert finished.restore_best()
    finished.model.eval()
    finished.model.use(finished.policy())
    with torch.no_grad():
        expected = finished.model(inputs).numpy()
    patches = encode(patch_vectors(inputs, 2).double().numpy(), INPUT_FRAC_BITS)
    answers = Oracle(public, tensors).scores(patches)
    assert np.abs(answers - expected).max() < 0.1
    assert (answers.argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.95


def test_an_unfinished_run_exports_nothing(finished: Compression, tmp_path: Path) -> None:
    copy_source(finished.folder.path / SOURCE, tmp_path / SOURCE)
    with pytest.raises(RunError, match="no finished run"):
        export_run(tmp_path, tmp_path / "model", "light")
    assert not (tmp_path / "model").exists()
