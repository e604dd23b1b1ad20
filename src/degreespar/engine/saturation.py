"""How many values left their calibrated bounds: the ring holds twice a bound, beyond it they wrap."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from degreespar.engine.ring import Integers


@dataclass(frozen=True)
class Saturation:
    """Of the values seen at one point, how many were out of its range.

    Exact up to three times the bound; of what is beyond that, a ring shows about half.
    """

    seen: int = 0
    beyond: int = 0

    @staticmethod
    def of(values: Integers, low: int, high: int) -> "Saturation":
        """Counted against low..high."""
        return Saturation(values.size, int(np.count_nonzero((values < low) | (values > high))))

    def __add__(self, other: "Saturation") -> "Saturation":
        return Saturation(self.seen + other.seen, self.beyond + other.beyond)


Saturations = Mapping[tuple[str, str], Saturation]
"""By window and point."""


def merged(parts: Iterable[Saturations]) -> dict[tuple[str, str], Saturation]:
    """All together."""
    found: dict[tuple[str, str], Saturation] = {}
    for part in parts:
        for place, count in part.items():
            found[place] = found.get(place, Saturation()) + count
    return found
