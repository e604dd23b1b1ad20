"""First guesses of 1/x and 1/sqrt(x): the stated error is reached, never passed; equal doubles everywhere."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from degreespar.numerics import AffineGuess, affine_guess, newton_iterations
from degreespar.numerics.errors import NumericsError
from degreespar.numerics.spline import GuessKind

KINDS: tuple[GuessKind, ...] = ("reciprocal", "reciprocal_root")


def relative_errors(kind: GuessKind, guess: AffineGuess, x: np.ndarray) -> np.ndarray:
    exact = 1.0 / x if kind == "reciprocal" else 1.0 / np.sqrt(x)
    return np.array([guess.evaluate(value) for value in x]) / exact - 1.0


@settings(deadline=None, max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    low=st.floats(1e-6, 1e3),
    ratio=st.floats(1.01, 2.0**24),
    allowed=st.floats(0.02, 0.5),
)
def test_error_is_the_stated_one(kind: GuessKind, low: float, ratio: float, allowed: float) -> None:
    guess = affine_guess(kind, low, low * ratio, allowed)
    errors = np.abs(relative_errors(kind, guess, np.geomspace(low, low * ratio, 3001)))
    assert errors.max() <= guess.relative_error * (1 + 1e-9) + 1e-12
    assert guess.relative_error <= allowed * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_error_is_reached_with_both_signs_on_each_piece(kind: GuessKind) -> None:
    low, high = 1.0, 200.0
    guess = affine_guess(kind, low, high, 0.1)
    ends = [low, *guess.thresholds, high]
    for start, end in itertools.pairwise(ends):
        inside = np.linspace(start, np.nextafter(end, 0.0), 2001)
        errors = relative_errors(kind, guess, inside)
        assert errors.max() == pytest.approx(guess.relative_error, rel=1e-4)
        assert errors[0] == pytest.approx(-guess.relative_error, rel=1e-4)
        assert errors[-1] == pytest.approx(-guess.relative_error, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_fewest_segments(kind: GuessKind) -> None:
    guess = affine_guess(kind, 1.0, 200.0, 0.1)
    tighter = affine_guess(kind, 1.0, 200.0, guess.relative_error * 0.999)
    assert len(tighter.slopes) == len(guess.slopes) + 1
    assert len(guess.slopes) == len(guess.constants) == len(guess.thresholds) + 1
    assert list(guess.thresholds) == sorted(guess.thresholds)
    assert all(slope < 0 for slope in guess.slopes)


def test_doubles_are_the_same_on_every_machine() -> None:
    """Two parties compute the guess apart: these literals were computed on x86-64 Linux, Python 3.11."""
    assert affine_guess("reciprocal", 0.25, 64.0, 0.1) == AffineGuess(
        thresholds=(
            0.5520447568369062,
            1.2190136542044758,
            2.6918003852647137,
            5.943977156547797,
            13.125365696122216,
            28.983157256445036,
        ),
        constants=(
            5.367897390454763,
            2.4309158469376753,
            1.1008690042027942,
            0.49854155418055635,
            0.22577044162011817,
            0.10224281583332695,
            0.046301868900610346,
        ),
        slopes=(
            -6.6927653908300675,
            -1.372578019890545,
            -0.2814935696487921,
            -0.05772978191792566,
            -0.011839445300471207,
            -0.002428078893873751,
            -0.0004979597409551392,
        ),
        relative_error=0.07632348931318855,
    )
    assert affine_guess("reciprocal_root", 0.25, 64.0, 0.1) == AffineGuess(
        thresholds=(1.0, 4.0, 16.0),
        constants=(2.1327725431701694, 1.0663862715850847, 0.5331931357925423, 0.2665965678962712),
        slopes=(-1.2187271675258111, -0.1523408959407264, -0.0190426119925908, -0.00238032649907385),
        relative_error=0.08595462435564172,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [2.0**-8, 2.0**-12, 2.0**-18])
def test_newton_meets_the_target_and_no_sooner(kind: GuessKind, target: float) -> None:
    start = 0.13
    iterations = newton_iterations(kind, start, target)
    x = 3.7
    exact = 1.0 / x if kind == "reciprocal" else 1.0 / math.sqrt(x)

    def error_after(steps: int) -> float:
        worst = 0.0
        for sign in (-1, 1):
            y = exact * (1 + sign * start)
            for _ in range(steps):
                y = y * (2 - x * y) if kind == "reciprocal" else y * (3 - x * y * y) / 2
            worst = max(worst, abs(y / exact - 1))
        return worst

    assert error_after(iterations) <= target
    assert error_after(iterations - 1) > target


@pytest.mark.parametrize("kind", KINDS)
def test_newton_counts_on_the_worst_sign_of_the_error(kind: GuessKind) -> None:
    start = 0.25
    after_one = start**2 if kind == "reciprocal" else 1 - (1 + start) * (3 - (1 + start) ** 2) / 2
    assert newton_iterations(kind, start, after_one * (1 + 1e-9)) == 1
    assert newton_iterations(kind, start, after_one * (1 - 1e-9)) == 2


def test_newton_on_a_good_guess_needs_no_step() -> None:
    assert newton_iterations("reciprocal", 0.001, 0.001) == 0


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 1.0), (2.0, 2.0), (1.0, math.inf), (1.0, math.nan)])
def test_refuses_an_impossible_range(ends: tuple[float, float]) -> None:
    with pytest.raises(NumericsError):
        affine_guess("reciprocal", *ends, 0.1)


@pytest.mark.parametrize("error", [0.0, 1.0, -0.1, math.nan])
def test_refuses_an_impossible_error(error: float) -> None:
    with pytest.raises(NumericsError):
        affine_guess("reciprocal_root", 1.0, 2.0, error)


def test_refuses_too_many_segments() -> None:
    with pytest.raises(NumericsError):
        affine_guess("reciprocal", 1e-9, 1e9, 1e-4)


@pytest.mark.parametrize(
    ("start", "target"), [(0.6, 0.1), (-0.1, 0.1), (0.1, 0.0), (math.nan, 0.1), (0.1, math.nan)]
)
def test_newton_refuses(start: float, target: float) -> None:
    with pytest.raises(NumericsError):
        newton_iterations("reciprocal", start, target)
