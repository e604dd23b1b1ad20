"""Torch models whose nonlinear functions follow a policy, and their checkpoints."""

from degreespar.models.bert import Bert
from degreespar.models.errors import CheckpointError, ModelError
from degreespar.models.huggingface import Checkpoint, load_checkpoint, save_checkpoint
from degreespar.models.huggingface_bert import TextCheckpoint, load_text_checkpoint, save_text_checkpoint
from degreespar.models.normalisation import Normalisation
from degreespar.models.vit import Observer, Vit

__all__ = [
    "Bert",
    "Checkpoint",
    "CheckpointError",
    "ModelError",
    "Normalisation",
    "Observer",
    "TextCheckpoint",
    "Vit",
    "load_checkpoint",
    "load_text_checkpoint",
    "save_checkpoint",
    "save_text_checkpoint",
]
