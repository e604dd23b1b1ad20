"""What is committed under demo/ belongs together."""

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from degreespar.artifact import expected_weights, read_client, read_server
from degreespar.degree import LayerBounds
from degreespar.models import load_checkpoint
from degreespar.training.calibrate import observe
from degreespar.training.export import quantised
from degreespar.training.fold import folded

DEMO = Path(__file__).resolve().parents[2] / "demo"
VARIANTS = ("", "-low")


def pictures() -> tuple[torch.Tensor, np.ndarray, list[str]]:
    entries = json.loads((DEMO / "pictures" / "labels.json").read_text())["pictures"]
    arrays = []
    for entry in entries:
        with Image.open(DEMO / "pictures" / entry["file"]) as image:
            assert (image.mode, image.size) == ("L", (28, 28))
            arrays.append(np.asarray(image)[None])
    labels = np.array([entry["class"] for entry in entries])
    return torch.from_numpy(np.stack(arrays)), labels, [entry["label"] for entry in entries]


@pytest.mark.parametrize("suffix", VARIANTS)
def test_the_artifact_is_its_checkpoint(suffix: str) -> None:
    checkpoint = load_checkpoint(DEMO / f"checkpoint{suffix}")
    public, tensors, _ = read_server(DEMO / f"model{suffix}")
    again, entries = quantised(folded(checkpoint.model), expected_weights(checkpoint.model.geometry))
    assert entries == public.weights
    for name, tensor in again.items():
        # Another machine's last bit in the folding may turn a rounding by one unit.
        assert np.abs(tensor.astype(np.int64) - tensors[name].astype(np.int64)).max() <= 1
    _, client, _ = read_client(DEMO / f"model{suffix}")
    assert client.mean == pytest.approx(checkpoint.normalisation.mean)
    assert client.std == pytest.approx(checkpoint.normalisation.std)


@pytest.mark.parametrize("suffix", VARIANTS)
def test_the_deployed_policy_answers_the_pictures(suffix: str) -> None:
    checkpoint = load_checkpoint(DEMO / f"checkpoint{suffix}")
    public, _, _ = read_server(DEMO / f"model{suffix}")
    pixels, classes, labels = pictures()
    assert [public.labels[number] for number in classes] == labels
    assert len(pixels) >= 12
    assert set(classes) == set(range(10))
    checkpoint.model.use(public.policy)
    answers = checkpoint.model(checkpoint.normalisation.apply(pixels)).argmax(dim=-1).numpy()
    assert (answers == classes).mean() >= 0.8


@pytest.mark.parametrize("suffix", VARIANTS)
def test_the_pictures_stay_within_the_bounds(suffix: str) -> None:
    checkpoint = load_checkpoint(DEMO / f"checkpoint{suffix}")
    public, _, _ = read_server(DEMO / f"model{suffix}")
    seen = observe(checkpoint.model, public.policy, [checkpoint.normalisation.apply(pictures()[0])])
    for index, layer in enumerate(public.policy.layers):
        for field in fields(LayerBounds):
            extremes, bound = seen[f"layers.{index}.{field.name}"], getattr(layer.bounds, field.name)
            if isinstance(bound, tuple):
                assert bound[0] < extremes.low <= extremes.high < bound[1]
            else:
                assert extremes.high < bound
    assert seen["logits"].high < public.policy.bounds.logits
