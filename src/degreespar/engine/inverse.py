"""From a public range to the integer parameters of a reciprocal or reciprocal root."""

import math

from degreespar.engine.backend import InverseSpec
from degreespar.engine.ring import required_bits
from degreespar.numerics.spline import GuessKind, affine_guess, newton_iterations

GUESS_ERROR = 1 / 32
"""Relative error of the affine first guess: more pieces cost comparisons, fewer cost Newton rounds."""
SLOPE_PRECISION_BITS = 14


def inverse_spec(
    root: bool, low: float, high: float, input_bits: int, input_frac: int, output_frac: int
) -> InverseSpec:
    """Parameters for x in [low, high]; output error about 2^-(output_frac-2) plus what x's own units cost."""
    kind: GuessKind = "reciprocal_root" if root else "reciprocal"
    guess = affine_guess(kind, low, high, GUESS_ERROR)
    flattest = min(abs(slope) for slope in guess.slopes)
    _, exponent = math.frexp(flattest)  # flattest < 2^exponent; exact, as both parties must agree
    slope_frac = max(SLOPE_PRECISION_BITS - exponent + 1, output_frac - input_frac, 0)
    largest = (1 / math.sqrt(low) if root else 1 / low) * (1 + GUESS_ERROR)
    return InverseSpec(
        root=root,
        input_bits=input_bits,
        input_frac=input_frac,
        output_bits=required_bits(largest, output_frac),
        output_frac=output_frac,
        thresholds=tuple(_units(value, input_frac) for value in guess.thresholds),
        constants=tuple(_units(value, output_frac) for value in guess.constants),
        slopes=tuple(_units(value, slope_frac) for value in guess.slopes),
        slope_frac=slope_frac,
        iterations=newton_iterations(kind, guess.relative_error, 2.0**-output_frac),
        work_bits=_work_bits(root, largest, high, input_frac, output_frac, slope_frac),
    )


def _units(value: float, frac_bits: int) -> int:
    return round(value * 2.0**frac_bits)


def _work_bits(
    root: bool, largest: float, high: float, input_frac: int, output_frac: int, slope_frac: int
) -> int:
    """The widest of: x itself, the guess, each Newton product (t is about 1 and below 2)."""
    products = [
        required_bits(high, input_frac),
        required_bits(2 * largest, slope_frac + input_frac),
        required_bits(2, input_frac + output_frac),
        required_bits(4 * largest, 2 * output_frac),
    ]
    if root:
        products.append(required_bits(2 * largest * largest, 2 * output_frac))
    widest = max(products)
    if widest > 64:
        raise ValueError(f"a reciprocal of this range needs a ring of {widest} bits, 64 are the most")
    return widest
