import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from degreespar.training.classifier import with_state
from degreespar.training.run_folder import RunFolder
from tests.training.tiny import made_recipe, made_run, trained_model

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_two_processes_train_one_model(tmp_path: Path) -> None:
    """Both end in the same state, and near the one that a single process reaches with the same batches."""
    model = trained_model()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    torch.save(state, tmp_path / "model.pt")
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0", "--standalone"]
    words = [sys.executable, *launch, "-m", "tests.training.torchrun_worker", str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110)
    assert ended.returncode == 0, ended.stderr[-3000:]
    ends = [torch.load(tmp_path / f"end{number}.pt", weights_only=True) for number in (0, 1)]
    for part in ("model", "variables"):
        assert all(torch.equal(ends[0][part][name], ends[1][part][name]) for name in ends[0][part])
    alone = made_run(tmp_path / "alone", made_recipe(epochs=2), with_state(model, state))
    alone.run()
    rows, other = RunFolder(tmp_path / "run").rows(), alone.folder.rows()
    assert [row["stage"] for row in rows] == [row["stage"] for row in other]
    assert rows[1]["accuracy"] == pytest.approx(other[1]["accuracy"], abs=0.05)
    gap = max(
        float((ends[0]["model"][name] - value).abs().max())
        for name, value in alone.model.state_dict().items()
    )
    moved = max(float((value - state[name]).abs().max()) for name, value in alone.model.state_dict().items())
    assert gap < 0.5 * moved
