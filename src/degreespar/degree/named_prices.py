"""Prices by the names that options take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from degreespar.degree.errors import PriceError
from degreespar.degree.paper_prices import paper_prices, uniform_prices
from degreespar.degree.prices import Prices

NAMED: Mapping[str, Callable[[], Prices]] = MappingProxyType(
    {"paper": paper_prices, "uniform": uniform_prices}
)


def prices_named(name: str) -> Prices:
    """One of NAMED."""
    if name not in NAMED:
        raise PriceError(f"no prices are called {name!r}; there are {', '.join(NAMED)}")
    return NAMED[name]()
