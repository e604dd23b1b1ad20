"""What can be wrong with a policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from degreespar.errors import DegreeSparError


class PolicyError(DegreeSparError):
    """A degree policy that no program can run; the sentence names the place."""


class PriceError(DegreeSparError):
    """Prices that are not what they must be; the sentence names the place."""


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Puts the place before the sentence of an error from inside."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{where}: {error}") from error
