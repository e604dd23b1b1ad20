"""Ring words: the headroom rule, signed values, exact products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from degreespar.engine.ring import encode, exact_matmul, required_bits, signed


@given(st.integers(3, 64), st.data())
def test_signed_undoes_encode(bits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    assert signed(encode(np.array([value]), bits), bits)[0] == value


@given(st.floats(2**-10, 2**20), st.integers(0, 30))
def test_what_is_below_a_bound_keeps_the_headroom(bound: float, frac_bits: int) -> None:
    bits = required_bits(bound, frac_bits)
    assert bound * 2.0**frac_bits <= 2.0 ** (bits - 2)
    assert bits == 3 or bound * 2.0**frac_bits > 2.0 ** (bits - 3)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_a_bound_is_positive(bound: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        required_bits(bound, 12)


@pytest.mark.parametrize("magnitude", [2**10, 2**31, 2**62])
def test_products_are_exact_beyond_what_a_double_holds(magnitude: int) -> None:
    rng = np.random.default_rng(magnitude)
    left = rng.integers(-magnitude, magnitude, size=(2, 3, 5))
    right = rng.integers(-magnitude, magnitude, size=(2, 5, 4))
    exact = (left.astype(object) @ right.astype(object)) % 2**64
    assert (exact_matmul(left, right).astype(object) == exact).all()
