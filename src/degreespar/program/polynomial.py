"""p(t) of a GeLU order, or of tanh, with as few secret products as its degree allows.

Degree 4 and 6 complete a square: p = c_d * u^2 + a polynomial of half the degree, where u has the
half degree too. So degree 2, 3, 4, 6 cost one square, one square and one product, two squares, two
squares and one product.
"""

from typing import Protocol

from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.program.units import ACTIVATION_FRAC, COEFFICIENT_FRAC


class Polynomial(Protocol):
    """Coefficients of 1, t, t^2, ... and where they hold."""

    @property
    def edge(self) -> float:
        """The largest t."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Of a polynomial of degree 2, 3, 4 or 6."""


def evaluate(ops: Ops, t: Secret, polynomial: Polynomial, bound: float) -> Secret:
    """p(t) for 0 <= t <= the polynomial's edge; garbage beyond it."""
    degree = len(polynomial.coefficients) - 1
    return {2: _degree2, 3: _degree3, 4: _degree4, 6: _degree6}[degree](ops, t, polynomial, bound)


def _degree2(ops: Ops, t: Secret, p: Polynomial, bound: float) -> Secret:
    c0, c1, c2 = p.coefficients
    return _sum(ops, [(_squared(ops, t, p), c2), (t, c1)], c0, bound)


def _degree3(ops: Ops, t: Secret, p: Polynomial, bound: float) -> Secret:
    c0, c1, c2, c3 = p.coefficients
    squared = _squared(ops, t, p)
    return _sum(ops, [(_cubed(ops, t, squared, p), c3), (squared, c2), (t, c1)], c0, bound)


def _degree4(ops: Ops, t: Secret, p: Polynomial, bound: float) -> Secret:
    c0, c1, c2, c3, c4 = p.coefficients
    a = c3 / (2 * c4)
    squared = _squared(ops, t, p)
    # u = t^2 + a t, moved to the middle of what it takes between 0 and the edge: a narrower square.
    ends = (-a * a / 4, 0.0, p.edge * (p.edge + a))
    middle, radius = -(max(ends) + min(ends)) / 2, (max(ends) - min(ends)) / 2
    moved = _sum(ops, [(squared, 1.0), (t, a)], middle, bound=radius + 2.0**-ACTIVATION_FRAC)
    again = ops.square(moved, bound=moved.bound**2, frac_bits=ACTIVATION_FRAC)
    # c4 u^2 = c4 (moved - middle)^2, whose mixed term and constant go to the others.
    rest = [(squared, c2 - c4 * (a * a + 2 * middle)), (t, c1 - 2 * c4 * middle * a)]
    return _sum(ops, [(again, c4), *rest], c0 - c4 * middle * middle, bound)


def _degree6(ops: Ops, t: Secret, p: Polynomial, bound: float) -> Secret:
    c0, c1, c2, c3, c4, c5, c6 = p.coefficients
    a = c5 / (2 * c6)
    b = (c4 / c6 - a * a) / 2
    squared = _squared(ops, t, p)
    cubed = _cubed(ops, t, squared, p)
    reach = p.edge**3 + abs(a) * p.edge**2 + abs(b) * p.edge
    u = _sum(ops, [(cubed, 1.0), (squared, a), (t, b)], 0.0, bound=reach)
    again = ops.square(u, bound=reach**2, frac_bits=ACTIVATION_FRAC)
    rest = [(cubed, c3 - 2 * a * b * c6), (squared, c2 - b * b * c6), (t, c1)]
    return _sum(ops, [(again, c6), *rest], c0, bound)


def _squared(ops: Ops, t: Secret, p: Polynomial) -> Secret:
    return ops.square(t, bound=p.edge**2, frac_bits=ACTIVATION_FRAC)


def _cubed(ops: Ops, t: Secret, squared: Secret, p: Polynomial) -> Secret:
    return ops.multiply(squared, t, bound=p.edge**3, frac_bits=ACTIVATION_FRAC)


def _sum(ops: Ops, terms: list[tuple[Secret, float]], constant: float, bound: float) -> Secret:
    return ops.weighted_sum(terms, COEFFICIENT_FRAC, constant, ACTIVATION_FRAC, bound)
