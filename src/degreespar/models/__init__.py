"""Torch models whose nonlinear functions follow a policy, and their checkpoints."""

from degreespar.models.errors import CheckpointError, ModelError
from degreespar.models.huggingface import Checkpoint, load_checkpoint, save_checkpoint
from degreespar.models.normalisation import Normalisation
from degreespar.models.vit import Observer, Vit

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "ModelError",
    "Normalisation",
    "Observer",
    "Vit",
    "load_checkpoint",
    "save_checkpoint",
]
