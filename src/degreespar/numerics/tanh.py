"""tanh in three segments: a polynomial of |x| with the sign of x near zero, -1 and 1 outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from degreespar.numerics._tables import TANH_ROW


@dataclass(frozen=True)
class TanhPolynomial:
    """p(|x|) with the sign of x for |x| <= edge, the sign of x outside; p has no constant."""

    edge: float
    coefficients: tuple[float, ...]
    max_error: float

    def evaluate(self, x: ArrayLike) -> NDArray[np.float64]:
        """The value in double precision."""
        values = np.asarray(x, dtype=np.float64)
        size = np.minimum(np.abs(values), self.edge)
        inner = np.zeros_like(size)
        for coefficient in reversed(self.coefficients):
            inner = inner * size + coefficient
        return np.where(np.abs(values) <= self.edge, inner, 1.0) * np.sign(values)


TANH = TanhPolynomial(*TANH_ROW)
"""Of BERT's pooler: one row per text, so that its degree is chosen for accuracy alone."""
