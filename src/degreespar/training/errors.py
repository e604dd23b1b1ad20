"""What can be wrong between data and artifact."""

from degreespar.errors import DegreeSparError


class DataError(DegreeSparError):
    """A data file is missing, damaged or not of its format; the text says which and why."""


class CalibrationError(DegreeSparError):
    """Calibration pictures do not give usable bounds."""


class ExportError(DegreeSparError):
    """A model cannot be written as an artifact."""


class RecipeError(DegreeSparError):
    """A recipe or a setting of it that no run can follow."""


class RunError(DegreeSparError):
    """A run folder that cannot be made, continued or read."""
