"""GeLU in three segments: a polynomial of |x| near zero, ReLU outside, by order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from degreespar.numerics._tables import GELU_ROWS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GeluPolynomial:
    """One state of a GeLU: 0.5 x + p(|x|) for |x| <= edge, ReLU(x) outside.

    Order 0 is the removed unit: it has no coefficients, its output is 0 and its error has no bound.
    Order 1 is ReLU everywhere, so its edge is infinite and no square is needed.
    Training adds uniform noise of `noise_scale` where noise_low <= |x| <= noise_high.
    """

    order: int
    edge: float
    coefficients: tuple[float, ...]
    max_error: float
    noise_low: float
    noise_high: float
    noise_scale: float

    def evaluate(self, x: ArrayLike) -> Floats:
        """The value in double precision."""
        values = np.asarray(x, dtype=np.float64)
        if not self.coefficients:
            return np.zeros_like(values)
        size = np.abs(values)
        inner = np.zeros_like(values)
        for coefficient in reversed(self.coefficients):
            inner = inner * size + coefficient
        return np.where(size <= self.edge, inner, 0.5 * size) + 0.5 * values


def gelu(x: ArrayLike) -> Floats:
    """The exact GeLU, x * Phi(x), in double precision (slow: for tests and reports)."""
    values = np.asarray(x, dtype=np.float64)
    signs = np.array([math.erf(value / math.sqrt(2)) for value in values.ravel()])
    return 0.5 * values * (1.0 + signs.reshape(values.shape))


GELU: Mapping[int, GeluPolynomial] = MappingProxyType({row[0]: GeluPolynomial(*row) for row in GELU_ROWS})
