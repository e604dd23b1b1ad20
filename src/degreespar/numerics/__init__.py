"""The floor: fixed point, polynomials with their errors, first guesses of 1/x and 1/sqrt(x)."""

from degreespar.numerics.exponential import EXPONENTIAL, OFF, Exponential
from degreespar.numerics.fixed_point import decode, encode
from degreespar.numerics.gelu import GELU, GeluPolynomial, gelu
from degreespar.numerics.spline import AffineGuess, affine_guess, newton_iterations
from degreespar.numerics.tanh import TANH, TanhPolynomial

__all__ = [
    "EXPONENTIAL",
    "GELU",
    "OFF",
    "TANH",
    "AffineGuess",
    "Exponential",
    "GeluPolynomial",
    "TanhPolynomial",
    "affine_guess",
    "decode",
    "encode",
    "gelu",
    "newton_iterations",
]
