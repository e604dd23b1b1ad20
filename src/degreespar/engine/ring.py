"""Arrays of ring elements: `uint64` words below 2^bits, two's complement for signed values."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]
BitArray: TypeAlias = NDArray[np.uint8]

_EXACT_FLOAT64 = float(2**53)


def reduce(words: Words, bits: int) -> Words:
    """The elements congruent to `words`."""
    return words if bits == 64 else words & np.uint64((1 << bits) - 1)


def encode(values: Integers, bits: int) -> Words:
    """Signed integers as ring elements."""
    return reduce(np.ascontiguousarray(values, dtype=np.int64).view(np.uint64), bits)


def signed(words: Words, bits: int) -> Integers:
    """The representatives in [-2^(bits-1), 2^(bits-1))."""
    unused = np.uint64(64 - bits)
    shifted = np.ascontiguousarray(words) << unused
    values: Integers = shifted.view(np.int64) >> np.int64(64 - bits)
    return values


def required_bits(bound: float, frac_bits: int) -> int:
    """Narrowest ring in which |value| < bound leaves the headroom that every bounded primitive needs.

    The rule is |x| < 2^(bits-2) for the integer x = value * 2^frac_bits. A power of two as bound must
    not be reached: calibrated bounds are powers of two with a margin, and one bit less is worth it.
    """
    if not bound > 0:
        raise ValueError(f"a bound is positive, not {bound}")
    mantissa, exponent = math.frexp(bound)
    if mantissa == 0.5:
        exponent -= 1
    return max(exponent + frac_bits + 2, 3)


def exact_matmul(left: Integers, right: Integers) -> Words:
    """The (batched) integer product modulo 2^64, through floating point where that is exact."""
    inner = left.shape[-1]
    largest = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0)) * inner
    if largest < _EXACT_FLOAT64:
        product = left.astype(np.float64) @ right.astype(np.float64)
        return product.astype(np.int64).view(np.uint64)
    wrapped: Words = left.view(np.uint64) @ right.view(np.uint64)
    return wrapped
