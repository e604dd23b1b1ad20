"""Prices by the names that options take."""

from __future__ import annotations

from pathlib import Path

from degreespar.degree.errors import PriceError
from degreespar.degree.paper_prices import paper_prices, uniform_prices
from degreespar.degree.price_table import default_prices, read_prices
from degreespar.degree.prices import Prices

NAMES = ("paper", "uniform", "measured")
NETWORK = "wan2"
"""The paper's accounting is one of this network."""


def prices_named(name: str, table: Path | None = None, network: str = NETWORK) -> Prices:
    """One of NAMES; measured ones for a network, from a file of `degreespar price` or the one that ships."""
    if name == "paper":
        return paper_prices()
    if name == "uniform":
        return uniform_prices()
    if name != "measured":
        raise PriceError(f"no prices are called {name!r}; there are {', '.join(NAMES)}")
    policies = (default_prices() if table is None else read_prices(table)).policy
    if network not in policies:
        raise PriceError(f"the price table has no prices for {network!r}; it has {', '.join(policies)}")
    return policies[network]
