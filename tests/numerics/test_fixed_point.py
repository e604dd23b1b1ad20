"""Fixed point: exact scaling, one rounding, nothing out of range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from degreespar.numerics import decode, encode
from degreespar.numerics.errors import NumericsError


def test_rounds_half_to_even() -> None:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    assert encode(halves, 0).tolist() == [-2, -2, 0, 0, 2, 2]
    assert encode(halves / 4096, 12).tolist() == [-2, -2, 0, 0, 2, 2]


@given(st.integers(-(2**52), 2**52), st.integers(0, 40))
def test_gives_back_what_it_holds_exactly(word: int, frac_bits: int) -> None:
    assert encode(decode(word, frac_bits), frac_bits) == word


@given(st.floats(-1e6, 1e6), st.integers(0, 30))
def test_error_is_half_a_unit(real: float, frac_bits: int) -> None:
    assert abs(decode(encode(real, frac_bits), frac_bits) - real) <= 0.5 / 2**frac_bits


def test_keeps_the_shape() -> None:
    encoded = encode([[1.0, -1.0, 0.25]], 2)
    assert encoded.dtype == np.int64
    assert encoded.tolist() == [[4, -4, 1]]


@pytest.mark.parametrize("real", [float("nan"), float("inf"), -float("inf"), 2.0**51, -(2.0**51)])
def test_refuses_what_does_not_fit(real: float) -> None:
    with pytest.raises(NumericsError):
        encode([0.0, real], 12)


def test_largest_that_fits() -> None:
    assert encode([2.0**50, -(2.0**50)], 12).tolist() == [2**62, -(2**62)]


@pytest.mark.parametrize("frac_bits", [-1, 63])
def test_refuses_odd_fraction_bits(frac_bits: int) -> None:
    with pytest.raises(NumericsError):
        encode(1.0, frac_bits)
    with pytest.raises(NumericsError):
        decode(1, frac_bits)
