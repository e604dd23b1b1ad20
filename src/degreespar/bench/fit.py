"""Prices of units from measured totals: least squares without negative prices."""

import numpy as np
from numpy.typing import NDArray

SWEEPS = 20_000
TOLERANCE = 1e-12

Matrix = NDArray[np.float64]


def nonnegative_prices(work: Matrix, seconds: Matrix, floor_s: float) -> Matrix:
    """p >= 0 that makes work @ p close to seconds, relative to max(seconds, floor_s).

    work (cases, units), seconds (cases). Coordinate descent (each price in turn gets its best value
    with the others fixed), which for this convex problem reaches the least squares' only minimum.
    """
    weights = 1.0 / np.maximum(seconds, floor_s)
    scale = np.abs(work).max(axis=0)
    scale[scale == 0] = 1.0
    rows = work / scale * weights[:, None]
    target = seconds * weights
    gram, pull = rows.T @ rows, rows.T @ target
    prices = np.zeros(work.shape[1])
    for _ in range(SWEEPS):
        largest_step = 0.0
        for unit in range(len(prices)):
            if gram[unit, unit] == 0:
                continue
            step = (pull[unit] - gram[unit] @ prices) / gram[unit, unit]
            moved = max(0.0, prices[unit] + step)
            largest_step = max(largest_step, abs(moved - prices[unit]))
            prices[unit] = moved
        if largest_step < TOLERANCE * max(1.0, prices.max()):
            break
    return np.asarray(prices / scale)
