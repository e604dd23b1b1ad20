"""Generates src/degreespar/numerics/_tables.py: the polynomials of GeLU and tanh, the squarings of exp.

Run `python scripts/generate_tables.py` to rewrite the file, or with `--check` to compare only.

GeLU(x) = 0.5 x + g(|x|) with g(t) = 0.5 t erf(t / sqrt 2), so one polynomial p of t = |x| on
[0, edge] fits both signs; outside, ReLU(x) = 0.5 x + 0.5 |x| takes over with the error
h(t) = 0.5 t erfc(t / sqrt 2). Remez' algorithm makes p minimax on [0, edge]; bisection finds the
edge where its error equals h(edge).

tanh(x) is the sign of x times p(|x|), p minimax on [0, edge] without a constant; 1 takes over with
the error 1 - tanh(edge). With even powers of |x| too, degree 6 is closer than an odd polynomial of degree 11.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLES_PATH = Path(__file__).parents[1] / "src" / "degreespar" / "numerics" / "_tables.py"

FITTED_ORDERS = (2, 3, 4, 6)
TANH_POWERS = (1, 2, 3, 4, 5, 6)
MAX_SQUARINGS = 6
LOWEST_CUTOFF = -14.0
# Half of the maximum error bounds GeLU's noise region, a third the exponential's; the scales are
# the ratio of noise to maximum error of the paper: 0.09 at order 2, 0.05 at two squarings.
GELU_REGION_SHARE = 1 / 2
GELU_NOISE_PER_ERROR = 2.9
EXPONENTIAL_REGION_SHARE = 1 / 3
EXPONENTIAL_NOISE_PER_ERROR = 0.68
# Far below any fixed-point grid in use, and far above what libm and LAPACK versions differ by.
COEFFICIENT_DECIMALS = 10
DECIMALS = 9

Floats = NDArray[np.float64]
Curve = Callable[[float], float]


@dataclass(frozen=True)
class Target:
    """What is fitted on [0, edge], by which powers of t, and the error of what takes over outside."""

    value: Curve
    powers: tuple[int, ...]
    outer_error: Curve


@dataclass(frozen=True)
class Fit:
    """A minimax polynomial (one coefficient for each power of its target) and its error on the interval."""

    coefficients: Floats
    error: float


def even_part(t: float) -> float:
    """g(t): what GeLU is above 0.5 x."""
    return 0.5 * t * math.erf(t / math.sqrt(2))


def relu_error(t: float) -> float:
    """h(t): how far ReLU lies above GeLU at |x| = t."""
    return 0.5 * t * math.erfc(t / math.sqrt(2))


def gelu_target(order: int) -> Target:
    """g by all powers up to the order."""
    return Target(even_part, tuple(range(order + 1)), relu_error)


TANH_TARGET = Target(math.tanh, TANH_POWERS, lambda t: 1.0 - math.tanh(t))


def polynomial(coefficients: Floats, first_power: int = 0) -> Curve:
    """The polynomial as a function, by Horner's rule."""

    def value(t: float) -> float:
        total = 0.0
        for coefficient in coefficients[::-1]:
            total = total * t + float(coefficient)
        return total * t**first_power

    return value


def highest_point(curve: Curve, low: float, high: float) -> float:
    """Where a curve with one peak in [low, high] is highest: golden-section search."""
    shrink = (math.sqrt(5) - 1) / 2
    left, right = high - shrink * (high - low), low + shrink * (high - low)
    while high - low > 1e-11 * max(1.0, abs(low)):
        if curve(left) >= curve(right):
            high, right = right, left
            left = high - shrink * (high - low)
        else:
            low, left = left, right
            right = low + shrink * (high - low)
    return (low + high) / 2


def crossing(curve: Curve, low: float, high: float) -> float:
    """The root of a curve between two points where its signs differ: bisection."""
    positive_at_low = curve(low) > 0
    for _ in range(80):
        middle = (low + high) / 2
        if (curve(middle) > 0) == positive_at_low:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def level_points(nodes: Floats, target: Target) -> tuple[Floats, float]:
    """Coefficients whose errors at the nodes alternate in sign with equal size, and that size."""
    rows = np.column_stack([nodes**power for power in target.powers])
    signs = (-1.0) ** np.arange(len(nodes))
    values = np.array([target.value(float(node)) for node in nodes])
    solution = np.linalg.solve(np.column_stack([rows, signs]), values)
    return solution[:-1], float(abs(solution[-1]))


def extreme_points(error: Curve, edge: float) -> Floats:
    """The extremes of an error curve on [0, edge]: one for each stretch of one sign."""
    grid = [float(t) for t in np.linspace(0.0, edge, 400)]
    values = [error(t) for t in grid]
    roots = [
        crossing(error, grid[i], grid[i + 1])
        for i in range(len(grid) - 1)
        if (values[i] > 0) != (values[i + 1] > 0)
    ]
    stretches = zip([0.0, *roots], [*roots, edge], strict=True)
    return np.array([highest_on_stretch(error, low, high) for low, high in stretches])


def highest_on_stretch(error: Curve, low: float, high: float) -> float:
    """Where |error| is highest on a stretch; a first or last stretch may be highest at its end."""

    def size(t: float) -> float:
        return abs(error(t))

    inside = highest_point(size, low, high)
    return max((low, high, inside), key=size)


def alternation(error: Curve, edge: float, count: int) -> Floats:
    """`count` successive extremes; where the curve has more, the smaller end is dropped."""
    points = extreme_points(error, edge)
    while len(points) > count:
        first_is_smaller = abs(error(float(points[0]))) < abs(error(float(points[-1])))
        points = points[1:] if first_is_smaller else points[:-1]
    if len(points) < count:
        raise RuntimeError(f"expected {count} extremes of the error, found {len(points)}")
    return points


def remez(target: Target, edge: float) -> Fit:
    """The minimax polynomial of the target on [0, edge], from Chebyshev's nodes."""
    count = len(target.powers) + 1
    if target.powers[0] == 0:
        nodes = edge * (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2
    else:
        # Without a constant the error is 0 at 0: no node lies there.
        nodes = edge * np.sin(np.pi * np.arange(1, count + 1) / (2 * count))
    for _ in range(30):
        coefficients, level = level_points(nodes, target)
        value = polynomial(coefficients, target.powers[0])

        def error(t: float, value: Curve = value) -> float:
            return value(t) - target.value(t)

        nodes = alternation(error, edge, count)
        largest = max(abs(error(float(node))) for node in nodes)
        if largest - level <= 1e-12:
            break
    return Fit(coefficients, largest)


def balanced_edge(target: Target) -> float:
    """The edge at which the inner error equals the outer one."""
    low, high = 1.5, 5.0
    while high - low > 1e-11:
        middle = (low + high) / 2
        if remez(target, middle).error < target.outer_error(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def region_around(peak: float, error: Curve, share: float, low: float, high: float) -> tuple[float, float]:
    """The ends of the lobe around a peak of |error| that keeps `share` of the peak's size."""
    height = error(peak)

    def above(z: float) -> float:
        return error(z) / height - share

    return crossing(above, low, peak), crossing(above, peak, high)


def rounded_up(value: float) -> float:
    """The value rounded up to nine decimals, so that a rounded error is still a bound."""
    return math.ceil(value * 1e9) / 1e9


def literal(value: float) -> str:
    """A Python literal (`INFINITY` where there is no bound); -0.0 becomes 0.0."""
    return "INFINITY" if math.isinf(value) else repr(round(float(value), DECIMALS) + 0.0)


def row(key: int, values: list[float], coefficients: list[float] | None = None) -> str:
    """One row of a table, one value per line; the coefficients stand third."""
    cells = [str(key), *(literal(value) for value in values)]
    if coefficients is not None:
        lines = "".join(f"            {value!r},\n" for value in coefficients)
        cells.insert(2, f"(\n{lines}        )" if coefficients else "()")
    return "    (\n" + "".join(f"        {cell},\n" for cell in cells) + "    ),\n"


def fitted_row(order: int) -> str:
    """The row of a minimax polynomial; its noise lies on the outermost inner lobe of the error.

    The errors are those of the rounded coefficients, inside the edge and outside.
    """
    edge, coefficients, error = rounded_fit(gelu_target(order))
    nodes = [float(node) for node in extreme_points(error, edge)]
    largest = max(relu_error(edge), *(abs(error(node)) for node in nodes))
    low, high = region_around(nodes[-2], error, GELU_REGION_SHARE, nodes[-3], edge)
    noise = [low, high, GELU_NOISE_PER_ERROR * largest]
    return row(order, [edge, rounded_up(largest), *noise], coefficients)


def rounded_fit(target: Target) -> tuple[float, list[float], Curve]:
    """The edge, the coefficients as they are written, and their error inside the edge."""
    edge = round(balanced_edge(target), DECIMALS)
    fit = remez(target, edge)
    coefficients = [round(float(c), COEFFICIENT_DECIMALS) for c in fit.coefficients]
    value = polynomial(np.array(coefficients), target.powers[0])
    return edge, coefficients, lambda t: value(t) - target.value(t)


def tanh_row() -> str:
    """Edge, coefficients of 1, t, t^2, ... and the largest error."""
    edge, coefficients, error = rounded_fit(TANH_TARGET)
    nodes = [float(node) for node in extreme_points(error, edge)]
    largest = max(TANH_TARGET.outer_error(edge), *(abs(error(node)) for node in nodes))
    lines = "".join(f"        {value!r},\n" for value in [0.0, *coefficients])
    return f"    {literal(edge)},\n    (\n{lines}    ),\n    {literal(rounded_up(largest))},\n"


def relu_row() -> str:
    """Order 1 is exactly ReLU: no edge, one lobe of error."""
    peak = highest_point(relu_error, 0.0, 3.0)
    largest = relu_error(peak)
    low, high = region_around(peak, relu_error, GELU_REGION_SHARE, 0.0, 4.0)
    noise = [low, high, GELU_NOISE_PER_ERROR * largest]
    return row(1, [math.inf, rounded_up(largest), *noise], [0.0, 0.5])


def cutoff(squarings: int) -> float:
    """Where 0 replaces the power, which grows again below -1.278 * 2^n."""
    if squarings == 0:
        return -1.0
    return max(LOWEST_CUTOFF, -1.25 * float(1 << squarings))


def exponential_error(squarings: int) -> Curve:
    """(1 + z / 2^n)^(2^n) minus exp(z); below the cut-off the power counts as 0."""
    steps, cut = float(1 << squarings), cutoff(squarings)

    def error(z: float) -> float:
        power = math.pow(1.0 + z / steps, steps) if z >= cut else 0.0
        return power - math.exp(z)

    return error


def exponential_row(squarings: int) -> str:
    """One number of squarings: the largest error, and where the error is a third of it."""
    error, cut = exponential_error(squarings), cutoff(squarings)
    if squarings == 0:
        # The error is largest where the line gives way to 0, and falls on both sides of the cut.
        peak, lowest = cut - 1e-15, -20.0
    else:
        peak, lowest = highest_point(lambda z: abs(error(z)), max(cut, -3.0), 0.0), cut
    largest = abs(error(peak))
    low, high = region_around(peak, error, EXPONENTIAL_REGION_SHARE, lowest, 0.0)
    noise = [low, high, EXPONENTIAL_NOISE_PER_ERROR * largest]
    return row(squarings, [cut, rounded_up(largest), *noise])


HEADER = '''"""Generated by scripts/generate_tables.py; do not edit: change and run the script."""

from __future__ import annotations

INFINITY = float("inf")

'''


def tables_text() -> str:
    """The whole text of the generated module."""
    removed = row(0, [0.0, math.inf, 0.0, 0.0, 0.0], [])
    gelu = [removed, relu_row(), *(fitted_row(order) for order in FITTED_ORDERS)]
    exponential = [exponential_row(squarings) for squarings in range(MAX_SQUARINGS + 1)]
    return (
        HEADER
        + "# order, edge, coefficients of 1, t, t^2, ..., max_error, noise_low, noise_high, scale\n"
        + "GELU_ROWS: tuple[tuple[int, float, tuple[float, ...], "
        + "float, float, float, float], ...] = (\n"
        + "".join(gelu)
        + ")\n\n"
        + "# squarings, cutoff, max_error, noise_low, noise_high, noise_scale\n"
        + "EXPONENTIAL_ROWS: tuple[tuple[int, float, float, float, float, float], ...] = (\n"
        + "".join(exponential)
        + ")\n\n"
        + "# edge, coefficients of 1, t, t^2, ..., max_error\n"
        + "TANH_ROW: tuple[float, tuple[float, ...], float] = (\n"
        + tanh_row()
        + ")\n"
    )


def main() -> int:
    """Writes the tables, or with --check says whether the file is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    arguments = parser.parse_args()
    text = tables_text()
    if not arguments.check:
        TABLES_PATH.write_text(text, encoding="utf-8")
        return 0
    if TABLES_PATH.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TABLES_PATH} differs from what scripts/generate_tables.py writes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
