from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from degreespar.models import Vit
from degreespar.training import Pictures
from degreespar.training.baseline import BaselineSettings, Phase, some_patches, train_baseline
from degreespar.training.convolutional import ConvolutionalTeacher
from degreespar.training.execution import Execution
from degreespar.training.loop import EpochReport, accuracy
from degreespar.training.mimetic import MOVE_SELF, begin_mimetic, wave_positions
from degreespar.training.run_folder import RunFolder
from tests.training.tiny import GEOMETRY, PLAIN, loaded, made_pictures

EXACT_PRODUCTS = Execution()
SETTINGS = BaselineSettings((Phase(2, 6), Phase(1, 16)), learning_rate=4e-3, batch=16, warmup_epochs=0.5)


def made_vit() -> Vit:
    torch.manual_seed(3)
    model = Vit(GEOMETRY)
    begin_mimetic(model)
    return model


def run(
    folder: Path,
    model: torch.nn.Module,
    settings: BaselineSettings = SETTINGS,
    execution: Execution = EXACT_PRODUCTS,
) -> list[EpochReport]:
    reports: list[EpochReport] = []
    data = loaded(made_pictures(320))
    place = RunFolder(folder)
    place.begin({"settings": "of a test"})
    train_baseline(model, None, data, data, settings, place, reports.append, execution, PLAIN)
    return reports


def test_phases_follow_each_other_and_rates_end_at_nothing() -> None:
    assert [SETTINGS.patches(epoch) for epoch in range(3)] == [6, 6, 16]
    assert [SETTINGS.ends_phase(epoch) for epoch in range(3)] == [False, True, True]
    with pytest.raises(IndexError):
        SETTINGS.patches(3)
    rates = [SETTINGS.rate(epoch) / SETTINGS.learning_rate for epoch in (0.0, 0.25, 0.5, 1.75, 3.0)]
    assert rates == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0])


def test_some_patches_are_the_class_token_and_different_others() -> None:
    torch.manual_seed(0)
    embedded = torch.arange(3 * 17).view(3, 17, 1).expand(-1, -1, 4)
    shown = some_patches(embedded, 5)
    assert shown.shape == (3, 6, 4)
    assert torch.equal(shown[:, 0], embedded[:, 0])
    for row, all_of_it in zip(shown[..., 0], embedded[..., 0], strict=True):
        assert len(row.unique()) == 6
        assert set(row.tolist()) <= set(all_of_it.tolist())
    assert len({tuple((row - row[0]).tolist()) for row in shown[..., 0]}) > 1
    assert some_patches(embedded, 16) is embedded


def test_a_run_that_was_cut_short_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    whole, cut = made_vit(), made_vit()
    assert len(run(tmp_path / "whole", whole)) == 3

    def stop(report: EpochReport) -> None:
        if report.epoch == 1:
            raise KeyboardInterrupt

    data, folder = loaded(made_pictures(320)), RunFolder(tmp_path / "cut")
    folder.begin({"settings": "of a test"})
    with pytest.raises(KeyboardInterrupt):
        train_baseline(cut, None, data, data, SETTINGS, folder, stop, augmentation=PLAIN)
    again = made_vit()
    assert [report.epoch for report in run(tmp_path / "cut", again)] == [2]
    assert len(folder.rows()) == 3
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_a_model_learns_from_a_teacher_alone(tmp_path: Path) -> None:
    data = loaded(made_pictures(320))
    torch.manual_seed(0)
    teacher = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    run(tmp_path / "teacher", teacher, BaselineSettings((Phase(4, 1),), learning_rate=1e-2, batch=16))
    assert accuracy(teacher, data) > 0.9
    # All labels are the same: whatever is learnt comes from the teacher.
    blind = loaded(made_pictures(320))
    blind.labels.fill_(1)
    model, settings = made_vit(), BaselineSettings((Phase(4, 16),), 4e-3, 16, distill=1.0)
    folder = RunFolder(tmp_path / "student")
    folder.begin({"settings": "of a test"})
    train_baseline(model, teacher, blind, data, settings, folder, lambda report: None, augmentation=PLAIN)
    assert accuracy(model, data) > 0.8


def test_the_convolutional_teacher_tells_patterns_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240).astype(np.uint8)
    pixels = rng.integers(0, 60, (240, 1, 8, 8)).astype(np.uint8)
    pixels[labels == 1, :, ::2] += 150
    pixels[labels == 2, :, :, ::2] += 150
    data, folder = loaded(Pictures(pixels, labels)), RunFolder(tmp_path / "teacher")
    folder.begin({"settings": "of a test"})
    torch.manual_seed(0)
    teacher = ConvolutionalTeacher(1, 3, width=8)
    settings = BaselineSettings((Phase(4, 1),), learning_rate=1e-2, batch=16)
    train_baseline(teacher, None, data, data, settings, folder, lambda report: None)
    assert accuracy(teacher, data) > 0.9


def test_bfloat16_products_train_too(tmp_path: Path) -> None:
    reports = run(tmp_path / "run", made_vit(), execution=Execution(bfloat16=True))
    assert reports[-1].loss < reports[0].loss


def test_mimetic_attention_looks_at_its_like_and_moves_against_it() -> None:
    torch.manual_seed(0)
    width, heads = 64, 2
    model = Vit(type(GEOMETRY)(8, 2, 1, width, heads, (24,), 3, 1e-6))
    begin_mimetic(model)
    attention = next(model.blocks()).attention
    query, key, value = attention.query_key_value.weight.detach().view(3, width, width)
    for head in range(heads):
        rows = slice(head * width // heads, (head + 1) * width // heads)
        product = query[rows].T @ key[rows]
        off = product - torch.diag(product.diagonal())
        assert product.diagonal().mean() > 3 * off.abs().mean()
    moved = attention.projection.weight.detach() @ value
    assert float(moved.diagonal().mean()) == pytest.approx(MOVE_SELF, abs=0.05)


def test_wave_positions_are_alike_where_patches_are_near() -> None:
    positions = wave_positions(6, 32)
    assert positions.shape == (36, 32)
    likeness = positions @ positions[14]
    assert int(likeness.argmax()) == 14
    assert likeness[15] > likeness[17]
    assert likeness[20] > likeness[32]
    with pytest.raises(ValueError, match="quarters"):
        wave_positions(4, 30)
