"""What can be asked of the numerics wrongly."""

from degreespar.errors import DegreeSparError


class NumericsError(DegreeSparError):
    """A value, range or precision that no fixed-point number or guess can serve."""
