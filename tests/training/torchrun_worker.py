"""What each process of a distributed run does; started by torchrun in a test."""

import sys
from pathlib import Path

import torch

from degreespar.training.classifier import with_state
from degreespar.training.workers import gather_workers
from tests.training.tiny import made_recipe, made_run, trained_model


def main() -> None:
    """Run and leave the end state beside the run, one file for each process."""
    out = Path(sys.argv[1])
    torch.set_num_threads(1)
    workers = gather_workers()
    state = torch.load(out / "model.pt", weights_only=True)
    model = with_state(trained_model(), state)
    run = made_run(out / "run", made_recipe(epochs=2), model, workers=workers)
    run.run()
    end = {"model": run.model.state_dict(), "variables": run.variables.state_dict()}
    torch.save(end, out / f"end{workers.number}.pt")


if __name__ == "__main__":
    main()
