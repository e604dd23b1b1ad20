"""exp(z) for z <= 0 by squarings: (1 + z / 2^n)^(2^n), and 0 below the cut-off of n."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from degreespar.numerics._tables import EXPONENTIAL_ROWS

OFF = -1
"""The state of a softmax entry that is skipped: its weight is 0 and nothing is computed."""


@dataclass(frozen=True)
class Exponential:
    """One state of a softmax entry: n squarings with the cut-off that keeps the power near exp.

    The power grows again below -1.278 * 2^n, so squarings and cut-off change together, never alone.
    Training adds uniform noise of `noise_scale` where noise_low <= z <= noise_high.
    """

    squarings: int
    cutoff: float
    max_error: float
    noise_low: float
    noise_high: float
    noise_scale: float

    def evaluate(self, z: ArrayLike) -> NDArray[np.float64]:
        """The value in double precision, for z <= 0."""
        values = np.asarray(z, dtype=np.float64)
        power = 1.0 + np.maximum(values, self.cutoff) / float(1 << self.squarings)
        for _ in range(self.squarings):
            power = power * power
        return np.where(values >= self.cutoff, power, 0.0)


EXPONENTIAL: Mapping[int, Exponential] = MappingProxyType(
    {row[0]: Exponential(*row) for row in EXPONENTIAL_ROWS}
)
