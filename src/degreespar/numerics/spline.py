"""First guesses of 1/x and 1/sqrt(x) on a public range, to be refined by Newton's iteration.

The range is cut into segments of equal ratio, so that the relative error is the same on each; every
segment gets the affine function of least maximum relative error, known in closed form. Both parties
compute the guess on their own and must get the same doubles, so only +, -, *, /, sqrt occur here:
IEEE 754 fixes these to the last bit, while `pow` and `log` differ between C libraries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from degreespar.numerics.errors import NumericsError

GuessKind = Literal["reciprocal", "reciprocal_root"]
Affine = tuple[float, float, float]  # constant, slope, relative error

MAX_SEGMENTS = 64


@dataclass(frozen=True)
class AffineGuess:
    """constants[j] + slopes[j] * x for thresholds[j-1] <= x < thresholds[j]."""

    thresholds: tuple[float, ...]
    constants: tuple[float, ...]
    slopes: tuple[float, ...]
    relative_error: float

    def evaluate(self, x: float) -> float:
        """The guess at one point of the range."""
        piece = sum(1 for threshold in self.thresholds if x >= threshold)
        return self.constants[piece] + self.slopes[piece] * x


def affine_guess(kind: GuessKind, low: float, high: float, max_relative_error: float) -> AffineGuess:
    """The guess on [low, high] with the fewest segments that meet the relative error."""
    if not 0.0 < low < high < math.inf:
        raise NumericsError(f"a reciprocal needs a range 0 < low < high, not {low}..{high}")
    if not 0.0 < max_relative_error < 1.0:
        raise NumericsError(f"a relative error must lie in (0, 1), not {max_relative_error}")
    minimax = _minimax(kind)
    for segments in range(1, MAX_SEGMENTS + 1):
        ratio = _root_of_ratio(high / low, segments)
        if minimax(1.0, ratio)[2] <= max_relative_error:
            return _pieces(minimax, _ends(low, high, ratio, segments))
    raise NumericsError(
        f"the range {low}..{high} needs more than {MAX_SEGMENTS} segments"
        f" for a relative error of {max_relative_error}"
    )


def newton_iterations(kind: GuessKind, relative_error: float, target: float) -> int:
    """How many Newton steps bring a relative error of at most 1/2 down to `target`."""
    if not (0.0 <= relative_error <= 0.5 and target > 0.0):
        raise NumericsError(
            f"Newton's iteration needs a first error in 0..0.5 and a positive target,"
            f" not {relative_error} and {target}"
        )
    # From 1/2 the error falls at every step, so this ends.
    error, iterations = relative_error, 0
    while error > target:
        error = _after_newton(kind, error)
        iterations += 1
    return iterations


def _after_newton(kind: GuessKind, error: float) -> float:
    """The largest relative error after one step: e^2, or (3 e^2 + e^3) / 2 for the root."""
    if kind == "reciprocal":
        return error * error
    return (3.0 + error) * error * error / 2.0


def _minimax(kind: GuessKind) -> Callable[[float, float], Affine]:
    return _affine_reciprocal if kind == "reciprocal" else _affine_reciprocal_root


def _affine_reciprocal(a: float, b: float) -> Affine:
    """Minimises max |x (c + s x) - 1| on [a, b].

    Equal errors at both ends put the parabola's top at the middle: c = k (a + b), s = -k. Its error
    there is the opposite of the ends': k a b - 1 = -(k (a + b)^2 / 4 - 1).
    """
    k = 8.0 / (a * a + 6.0 * a * b + b * b)
    return k * (a + b), -k, 1.0 - k * a * b


def _affine_reciprocal_root(a: float, b: float) -> Affine:
    """Minimises max |sqrt(x) (c + s x) - 1| on [a, b].

    With u = sqrt(x) the function is c u + s u^3; let p = sqrt(a), q = sqrt(b), s = -k. Equal errors
    at both ends give c = k (p^2 + p q + q^2). The top lies at m^2 = c / (3 k), and is as high as the
    ends are low: 2 k m^3 - 1 = 1 - k p q (p + q).
    """
    p, q = math.sqrt(a), math.sqrt(b)
    square_sum = p * p + p * q + q * q
    top = math.sqrt(square_sum / 3.0)
    ends = p * q * (p + q)
    k = 2.0 / (2.0 * top * top * top + ends)
    return k * square_sum, -k, 1.0 - k * ends


def _root_of_ratio(ratio: float, segments: int) -> float:
    """The positive root of r^segments = ratio, by bisection over plain products."""
    low, high = 1.0, ratio
    for _ in range(200):
        middle = (low + high) / 2.0
        if _power(middle, segments) < ratio:
            low = middle
        else:
            high = middle
    return high


def _power(base: float, exponent: int) -> float:
    result = 1.0
    for _ in range(exponent):
        result *= base
    return result


def _ends(low: float, high: float, ratio: float, segments: int) -> list[float]:
    ends = [low]
    for _ in range(segments - 1):
        ends.append(ends[-1] * ratio)
    return [*ends, high]


def _pieces(minimax: Callable[[float, float], Affine], ends: list[float]) -> AffineGuess:
    fits = [minimax(a, b) for a, b in itertools.pairwise(ends)]
    return AffineGuess(
        thresholds=tuple(ends[1:-1]),
        constants=tuple(fit[0] for fit in fits),
        slopes=tuple(fit[1] for fit in fits),
        relative_error=max(fit[2] for fit in fits),
    )
