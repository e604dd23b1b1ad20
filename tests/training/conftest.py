import numpy as np
import pytest
import torch

from degreespar.artifact import VitGeometry
from degreespar.models import Checkpoint, Normalisation, Vit
from degreespar.training import Pictures


@pytest.fixture
def checkpoint() -> Checkpoint:
    """A small model whose every parameter, norms and biases too, is away from its start."""
    torch.manual_seed(0)
    model = Vit(VitGeometry(8, 4, 2, 16, 2, (24, 20), 3, 1e-6))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    normalisation = Normalisation((0.3, 0.5), (0.4, 0.25))
    return Checkpoint(model.eval(), ("cat", "dog", "hen"), normalisation)


@pytest.fixture
def pictures() -> Pictures:
    """Pictures whose class is where their light is."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240).astype(np.uint8)
    pixels = rng.integers(0, 120, (240, 2, 8, 8)).astype(np.uint8)
    for index, label in enumerate(labels):
        pixels[index, :, :, 2 * label : 2 * label + 3] += 120
    return Pictures(pixels, labels)
