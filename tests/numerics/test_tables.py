"""The committed tables: equal to the generator's output, with errors that hold."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from degreespar.numerics import EXPONENTIAL, GELU, TANH, gelu

GENERATOR = Path(__file__).parents[2] / "scripts" / "generate_tables.py"

# methods.md section 3: edge, largest error, the outermost lobe's half-maximum set.
PUBLISHED_GELU = {
    2: (2.189085, 0.031294, 1.21, 1.88),
    3: (2.696488, 0.009448, 2.03, 2.51),
    4: (3.260284, 0.001814, 2.80, 3.14),
    6: (3.543792, 0.000699, None, None),
}
# methods.md section 3: cut-off, largest error, the third-of-maximum set.
PUBLISHED_EXPONENTIAL = {
    0: (-1.0, 0.36788, -2.10, -0.54),
    1: (-2.5, 0.16190, -2.39, -0.57),
    2: (-5.0, 0.07380, -3.70, -0.57),
    3: (-10.0, 0.03530, -4.27, -0.57),
    4: (-14.0, 0.01728, -4.57, -0.56),
    5: (-14.0, 0.00855, -4.73, -0.56),
    6: (-14.0, 0.00425, -4.80, -0.56),
}


def test_committed_tables_are_what_the_generator_writes() -> None:
    ended = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()


def test_states_are_those_of_the_degree_space() -> None:
    assert list(GELU) == [0, 1, 2, 3, 4, 6]
    assert list(EXPONENTIAL) == [0, 1, 2, 3, 4, 5, 6]
    assert all(order == entry.order for order, entry in GELU.items())
    assert all(squarings == entry.squarings for squarings, entry in EXPONENTIAL.items())


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_gelu_error_is_the_stated_one(order: int) -> None:
    entry = GELU[order]
    x = np.linspace(-8.0, 8.0, 64_001)
    largest = np.abs(entry.evaluate(x) - gelu(x)).max()
    assert largest <= entry.max_error
    assert largest >= entry.max_error * (1 - 1e-4)


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_gelu_polynomials_are_minimax(order: int) -> None:
    """The error reaches its maximum order + 2 times with alternating signs: no polynomial is better."""
    entry = GELU[order]
    x = np.linspace(0.0, entry.edge, 40_001)
    error = entry.evaluate(x) - gelu(x)
    extreme = error[np.abs(error) >= entry.max_error * (1 - 1e-3)]
    changes = np.count_nonzero(np.diff(np.sign(extreme)))
    assert changes + 1 == order + 2


@pytest.mark.parametrize("order", PUBLISHED_GELU)
def test_gelu_figures_are_those_of_the_notes(order: int) -> None:
    entry = GELU[order]
    edge, error, low, high = PUBLISHED_GELU[order]
    assert entry.edge == pytest.approx(edge, abs=2e-6)
    assert entry.max_error == pytest.approx(error, abs=1e-6)
    assert entry.noise_scale == pytest.approx(2.9 * error, rel=1e-3)
    if low is not None:
        assert (entry.noise_low, entry.noise_high) == pytest.approx((low, high), abs=0.0051)


def test_gelu_outside_is_relu() -> None:
    for order in (2, 3, 4, 6):
        outside = np.array([GELU[order].edge + 1e-9, 7.0, 1e6])
        assert np.array_equal(GELU[order].evaluate(outside), outside)
        assert np.array_equal(GELU[order].evaluate(-outside), np.zeros(3))


def test_relu_and_removed_units() -> None:
    x = np.array([-3.0, -0.5, 0.0, 0.5, 3.0, 1e9])
    assert np.array_equal(GELU[1].evaluate(x), np.maximum(x, 0.0))
    assert np.array_equal(GELU[0].evaluate(x), np.zeros(6))
    assert GELU[0].coefficients == ()
    assert GELU[0].max_error == math.inf


@pytest.mark.parametrize("squarings", EXPONENTIAL)
def test_exponential_error_is_the_stated_one(squarings: int) -> None:
    entry = EXPONENTIAL[squarings]
    below_the_cut = np.nextafter(entry.cutoff, -np.inf)
    z = np.append(np.linspace(-30.0, 0.0, 60_001), below_the_cut)
    largest = np.abs(entry.evaluate(z) - np.exp(z)).max()
    assert largest <= entry.max_error
    assert largest >= entry.max_error * (1 - 1e-4)


@pytest.mark.parametrize("squarings", PUBLISHED_EXPONENTIAL)
def test_exponential_figures_are_those_of_the_notes(squarings: int) -> None:
    entry = EXPONENTIAL[squarings]
    cutoff, error, low, high = PUBLISHED_EXPONENTIAL[squarings]
    assert entry.cutoff == cutoff
    assert entry.max_error == pytest.approx(error, abs=6e-6)
    # The notes give two decimals, read off a grid.
    assert (entry.noise_low, entry.noise_high) == pytest.approx((low, high), abs=0.006)
    assert entry.noise_scale == pytest.approx(0.68 * error, rel=1e-3)


def test_noise_regions_end_where_the_error_has_fallen_to_its_share() -> None:
    for entry in EXPONENTIAL.values():
        ends = np.array([entry.noise_low, entry.noise_high])
        errors = np.abs(entry.evaluate(ends) - np.exp(ends))
        assert errors == pytest.approx([entry.max_error / 3] * 2, rel=1e-5)
    for order in (1, 2, 3, 4, 6):
        polynomial = GELU[order]
        ends = np.array([polynomial.noise_low, polynomial.noise_high])
        errors = np.abs(polynomial.evaluate(ends) - gelu(ends))
        # Half of the lobe's own peak, which rounding keeps within a little of the largest error.
        assert errors == pytest.approx([polynomial.max_error / 2] * 2, rel=1e-3)


@pytest.mark.parametrize("squarings", EXPONENTIAL)
def test_exponential_keeps_the_row_maximum_and_cuts_below(squarings: int) -> None:
    entry = EXPONENTIAL[squarings]
    assert entry.evaluate(0.0) == 1.0
    z = np.linspace(-1000.0, np.nextafter(entry.cutoff, -np.inf), 1001)
    assert np.array_equal(entry.evaluate(z), np.zeros(1001))
    inside = entry.evaluate(np.linspace(entry.cutoff, 0.0, 1001))
    assert inside.min() >= 0.0
    assert inside.max() <= 1.0


def test_exponential_matches_the_power() -> None:
    z = np.linspace(-4.9, 0.0, 101)
    assert EXPONENTIAL[2].evaluate(z) == pytest.approx((1 + z / 4) ** 4, rel=1e-12, abs=1e-15)


def test_tanh_error_is_the_stated_one_and_smaller_than_the_compared_method_s() -> None:
    x = np.linspace(-8.0, 8.0, 64_001)
    largest = np.abs(TANH.evaluate(x) - np.tanh(x)).max()
    assert largest <= TANH.max_error
    assert largest >= TANH.max_error * (1 - 1e-3)
    # methods.md section 1: BOLT's tanh is off by up to 0.0066.
    assert largest < 0.0066 / 4


def test_tanh_is_minimax_odd_and_one_outside() -> None:
    x = np.linspace(0.0, TANH.edge, 40_001)
    error = TANH.evaluate(x) - np.tanh(x)
    extreme = error[np.abs(error) >= TANH.max_error * (1 - 2e-3)]
    assert np.count_nonzero(np.diff(np.sign(extreme))) + 1 == 7  # six coefficients and the level
    assert np.array_equal(TANH.evaluate(-x), -TANH.evaluate(x))
    outside = np.array([TANH.edge + 1e-9, 4.0, 1e6])
    assert np.array_equal(TANH.evaluate(outside), np.ones(3))


def test_tables_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        GELU[2] = GELU[4]  # type: ignore[index]
    with pytest.raises(AttributeError):
        EXPONENTIAL[2].cutoff = -14.0  # type: ignore[misc]
