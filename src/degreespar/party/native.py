"""The native core's errors as this package's own."""

from collections.abc import Iterator
from contextlib import contextmanager

from degreespar._native import NativeError
from degreespar.party.errors import PartyError


@contextmanager
def native_errors() -> Iterator[None]:
    """Everything native inside fails with a PartyError of the same sentence."""
    try:
        yield
    except NativeError as error:
        raise PartyError(str(error)) from error
