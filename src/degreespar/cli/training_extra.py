"""Commands that need torch import it through here, and only when they run."""

from collections.abc import Iterator
from contextlib import contextmanager

from degreespar.errors import DegreeSparError

EXTRA = frozenset({"torch", "transformers"})


@contextmanager
def training_extra(what: str) -> Iterator[None]:
    """Around the imports: without the extra, `what` ends in a sentence that says how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in EXTRA:
            raise
        raise DegreeSparError(
            f"{what} needs {error.name}: install the extra with `pip install 'degreespar[train]'`"
        ) from error
