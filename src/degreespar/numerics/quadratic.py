"""1/x and 1/sqrt(x) on a public range as quadratics, piece by piece, to a stated error.

As in `spline`, both parties compute the pieces on their own and must get the same doubles: only +, -,
*, / and sqrt occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from degreespar.numerics.errors import NumericsError
from degreespar.numerics.spline import MAX_SEGMENTS, GuessKind

WIDEST_RATIO = 4.0
"""Of a piece's ends: wider ones are far from any useful error."""
_CHEBYSHEV = math.sqrt(3.0) / 2.0
"""The outer nodes of three, on [-1, 1]."""

Fit = tuple[float, float, float, float]
"""constant, slope, curvature, relative error"""


@dataclass(frozen=True)
class QuadraticPieces:
    """constants[j] + slopes[j] * x + curvatures[j] * x^2 for thresholds[j-1] <= x < thresholds[j]."""

    thresholds: tuple[float, ...]
    constants: tuple[float, ...]
    slopes: tuple[float, ...]
    curvatures: tuple[float, ...]

    def evaluate(self, x: float) -> float:
        """The function at one point of the range."""
        piece = sum(1 for threshold in self.thresholds if x >= threshold)
        return self.constants[piece] + (self.slopes[piece] + self.curvatures[piece] * x) * x


def quadratic_pieces(
    kind: GuessKind, low: float, high: float, relative: float, absolute: float, blur: float
) -> QuadraticPieces:
    """Few pieces on [low, high]; the error is at most `relative` of the value or `absolute`, the larger.

    A piece keeps its error `blur` beyond its ends: who looks the piece up may be off by that.
    """
    if not 0.0 < low < high < math.inf:
        raise NumericsError(f"a reciprocal needs a range 0 < low < high, not {low}..{high}")
    if not (0.0 < relative < 1.0 and absolute >= 0.0 and blur >= 0.0):
        raise NumericsError(f"a piece's errors must lie in (0, 1), not {relative} and {absolute}")
    fits: list[Fit] = []
    ends = [low]
    while ends[-1] < high:
        if len(fits) == MAX_SEGMENTS:
            raise NumericsError(f"the range {low}..{high} needs more than {MAX_SEGMENTS} pieces")
        start = ends[-1]
        size = start if kind == "reciprocal" else math.sqrt(start)
        end = _furthest(kind, start, high, max(relative, absolute * size), blur)
        ends.append(end)
        fits.append(_fit(kind, start, end, blur))
    return QuadraticPieces(
        thresholds=tuple(ends[1:-1]),
        constants=tuple(fit[0] for fit in fits),
        slopes=tuple(fit[1] for fit in fits),
        curvatures=tuple(fit[2] for fit in fits),
    )


def _furthest(kind: GuessKind, start: float, high: float, tolerance: float, blur: float) -> float:
    """The furthest end of a piece within the tolerance, by bisection."""
    below, above = start, min(high, WIDEST_RATIO * start)
    if _fit(kind, start, above, blur)[3] <= tolerance:
        return above
    for _ in range(60):
        middle = (below + above) / 2.0
        if _fit(kind, start, middle, blur)[3] <= tolerance:
            below = middle
        else:
            above = middle
    if below - start < blur:
        raise NumericsError(f"pieces near {start} would be narrower than {blur}, by which they are blurred")
    return below


def _fit(kind: GuessKind, start: float, end: float, blur: float) -> Fit:
    low, high = start - blur, end + blur
    if low <= 0.0:
        raise NumericsError(f"a blur of {blur} reaches from {start} to zero")
    return _reciprocal(low, high) if kind == "reciprocal" else _reciprocal_root(low, high)


def _reciprocal(a: float, b: float) -> Fit:
    """Minimises max |x p(x) - 1| on [a, b].

    The minimum is 1 - x p(x) = T3((m - x) / h) / T3(m / h), with T3(u) = 4 u^3 - 3 u, the middle m and
    half the width h: at most 1 / T3(m / h), and divisible by x, as it is 1 at x = 0.
    """
    middle, half = (a + b) / 2.0, (b - a) / 2.0
    z = middle / half
    top = (4.0 * z * z - 3.0) * z
    scale = half * top
    constant, slope = (12.0 * z * z - 3.0) / scale, -12.0 * z / (scale * half)
    return constant, slope, 4.0 / (scale * half * half), 1.0 / top


def _reciprocal_root(a: float, b: float) -> Fit:
    """Meets 1/sqrt(x) at the three Chebyshev nodes of [a, b]; the error is read where it peaks."""
    middle, half = (a + b) / 2.0, (b - a) / 2.0
    nodes = (middle - _CHEBYSHEV * half, middle, middle + _CHEBYSHEV * half)
    values = [1.0 / math.sqrt(node) for node in nodes]
    first = (values[1] - values[0]) / (nodes[1] - nodes[0])
    second = (values[2] - values[1]) / (nodes[2] - nodes[1])
    curvature = (second - first) / (nodes[2] - nodes[0])
    slope = first - curvature * (nodes[0] + nodes[1])
    constant = values[0] - (slope + curvature * nodes[0]) * nodes[0]
    peaks = (a, middle - half / 2.0, middle + half / 2.0, b)
    errors = [abs(math.sqrt(x) * (constant + (slope + curvature * x) * x) - 1.0) for x in peaks]
    return constant, slope, curvature, max(errors)
