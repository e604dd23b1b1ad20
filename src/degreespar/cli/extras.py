"""Commands that need an optional extra import it through here, and only when they run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from degreespar.errors import DegreeSparError

EXTRAS: Mapping[str, frozenset[str]] = MappingProxyType(
    {"train": frozenset({"pyarrow", "torch", "transformers"}), "report": frozenset({"matplotlib"})}
)


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Around the imports: without the extra, `what` ends in a sentence that says how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in EXTRAS[name]:
            raise
        raise DegreeSparError(
            f"{what} needs {error.name}: install the extra with `pip install 'degreespar[{name}]'`"
        ) from error
