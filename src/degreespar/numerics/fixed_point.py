"""Real numbers as integers: x is held as x * 2^frac_bits, rounded half to even."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from degreespar.numerics.errors import NumericsError

# Beyond 2^62 a sum of two encoded values would leave int64.
LARGEST_ENCODED = 2.0**62
LARGEST_FRAC_BITS = 62


def encode(real: ArrayLike, frac_bits: int) -> NDArray[np.int64]:
    """Encodes real numbers at `frac_bits` fraction bits.

    Multiplying a double by a power of two is exact, so the only rounding is `rint`'s, half to even.
    """
    scaled = np.rint(np.asarray(real, dtype=np.float64) * _unit(frac_bits))
    if not np.all(np.abs(scaled) <= LARGEST_ENCODED):
        raise NumericsError(
            f"a value is not finite or too large for {frac_bits} fraction bits in 64-bit words"
        )
    return scaled.astype(np.int64)


def decode(encoded: ArrayLike, frac_bits: int) -> NDArray[np.float64]:
    """The real numbers that `encode` took, up to half a unit of 2^-frac_bits."""
    return np.asarray(encoded, dtype=np.int64).astype(np.float64) / _unit(frac_bits)


def _unit(frac_bits: int) -> float:
    if not 0 <= frac_bits <= LARGEST_FRAC_BITS:
        raise NumericsError(f"fraction bits must lie in 0..{LARGEST_FRAC_BITS}, not {frac_bits}")
    return float(1 << frac_bits)
