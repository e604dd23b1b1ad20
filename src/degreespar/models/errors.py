"""What can be wrong with a checkpoint or with the use of a model."""

from degreespar.errors import DegreeSparError


class ModelError(DegreeSparError):
    """A model was used in a way that does not fit its geometry."""


class CheckpointError(ModelError):
    """A checkpoint folder cannot be used; the text says which file and why."""
