"""The networks that benches are run over, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from degreespar.degree.price_table import Line
from degreespar.errors import DegreeSparError


@dataclass(frozen=True)
class Network:
    """Rate of each direction and round trip; `none` is this machine's loopback, as it is."""

    name: str
    bits_per_second: float | None
    round_trip_s: float

    @property
    def one_way_s(self) -> float:
        """Half of the round trip."""
        return self.round_trip_s / 2

    @property
    def line(self) -> Line | None:
        """For estimates."""
        if self.bits_per_second is None:
            return None
        return Line(self.name, self.bits_per_second, self.bits_per_second, self.round_trip_s)


NETWORKS: Mapping[str, Network] = MappingProxyType(
    {
        network.name: network
        for network in (
            Network("none", None, 0.0),
            Network("lan", 3e9, 0.8e-3),
            Network("wan1", 400e6, 4e-3),
            Network("wan2", 100e6, 10e-3),
        )
    }
)


def network_named(name: str) -> Network:
    """One of NETWORKS."""
    if name not in NETWORKS:
        raise DegreeSparError(f"no network is called {name!r}; there are {', '.join(NETWORKS)}")
    return NETWORKS[name]
