"""Data, the training loop, and the road from a trained model to an artifact."""

from degreespar.training.data import Pictures, hold_out, load_fashion_mnist, read_idx
from degreespar.training.errors import CalibrationError, DataError, ExportError
from degreespar.training.export import export_artifact
from degreespar.training.export_text import export_text_artifact
from degreespar.training.loop import EpochReport, LoadedPictures, TrainSettings, accuracy, train
from degreespar.training.policies import uniform_policy

__all__ = [
    "CalibrationError",
    "DataError",
    "EpochReport",
    "ExportError",
    "LoadedPictures",
    "Pictures",
    "TrainSettings",
    "accuracy",
    "export_artifact",
    "export_text_artifact",
    "hold_out",
    "load_fashion_mnist",
    "read_idx",
    "train",
    "uniform_policy",
]
