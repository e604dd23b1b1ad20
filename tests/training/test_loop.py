import pytest
import torch

from degreespar.models import Checkpoint, Normalisation
from degreespar.training import (
    EpochReport,
    LoadedPictures,
    Pictures,
    TrainSettings,
    accuracy,
    train,
    uniform_policy,
)
from degreespar.training.augment import Augmentation
from degreespar.training.loop import make_optimiser, set_rate

CPU = torch.device("cpu")
SETTINGS = TrainSettings(epochs=4, learning_rate=8e-3, batch=16, warmup_epochs=0.5, seed=7)
PLAIN = Augmentation(0, 0.0, 0.0)


def loaded(pictures: Pictures) -> LoadedPictures:
    return LoadedPictures.of(pictures, Normalisation((0.4, 0.4), (0.3, 0.3)), CPU)


@pytest.mark.parametrize("degrees", [None, (1, 1)])
def test_a_model_learns_in_either_mode(
    checkpoint: Checkpoint, pictures: Pictures, degrees: tuple[int, int] | None
) -> None:
    model, data = checkpoint.model, loaded(pictures)
    model.use(None if degrees is None else uniform_policy(model.geometry, *degrees))
    reports: list[EpochReport] = []
    train(model, data, data, SETTINGS, reports.append, PLAIN)
    assert [report.epoch for report in reports] == [0, 1, 2, 3]
    assert reports[-1].loss < reports[0].loss
    assert [report.accuracy is None for report in reports] == [True, True, True, False]
    assert reports[-1].accuracy == accuracy(model, data) > 0.9


def test_the_same_seed_gives_the_same_model(checkpoint: Checkpoint, pictures: Pictures) -> None:
    model, data = checkpoint.model, loaded(pictures)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    ends = []
    for _ in range(2):
        model.load_state_dict(start)
        train(model, data, data, TrainSettings(1, 1e-3, batch=32), lambda report: None)
        ends.append({name: value.clone() for name, value in model.state_dict().items()})
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in start)
    assert not torch.equal(ends[0]["head.weight"], start["head.weight"])


def test_accuracy_counts_every_picture(checkpoint: Checkpoint, pictures: Pictures) -> None:
    data = loaded(pictures)
    one_by_one = accuracy(checkpoint.model, data, batch=1)
    assert accuracy(checkpoint.model, data, batch=100) == one_by_one


def test_an_epoch_takes_no_picture_twice(pictures: Pictures) -> None:
    data = loaded(pictures)
    taken = torch.cat([pixels for pixels, _ in data.shuffled(50)]).flatten(1)
    assert len(taken) == 200
    assert len(taken.unique(dim=0)) == 200


def test_the_rate_warms_up_and_falls_to_zero(checkpoint: Checkpoint) -> None:
    optimiser = make_optimiser(checkpoint.model, SETTINGS)
    rates = []
    for epoch in (0.0, 0.25, 0.5, 2.25, 4.0):
        set_rate(optimiser, SETTINGS, epoch)
        rates.append(optimiser.param_groups[0]["lr"] / SETTINGS.learning_rate)
    assert rates == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0])


def test_only_matrices_decay(checkpoint: Checkpoint) -> None:
    model = checkpoint.model
    decayed, free = make_optimiser(model, SETTINGS).param_groups
    assert decayed["weight_decay"] == SETTINGS.weight_decay
    assert free["weight_decay"] == 0.0
    kept_free = {id(p) for n, p in model.named_parameters() if p.ndim == 1 or n == "positions"}
    assert {id(p) for p in free["params"]} == kept_free
    assert len(decayed["params"]) + len(free["params"]) == len(list(model.parameters()))
