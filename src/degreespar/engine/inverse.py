"""From a public range to the integer parameters of a reciprocal or reciprocal root."""

import math

from degreespar.engine.backend import InverseSpec, PiecewiseSpec
from degreespar.engine.ring import required_bits
from degreespar.numerics.errors import NumericsError
from degreespar.numerics.quadratic import QuadraticPieces, quadratic_pieces
from degreespar.numerics.spline import GuessKind, affine_guess, newton_iterations

GUESS_ERROR = 1 / 32
"""Relative error of the affine first guess: more pieces cost comparisons, fewer cost Newton rounds."""
SLOPE_PRECISION_BITS = 14
RELATIVE_ERROR = {"reciprocal": 2.0**-16, "reciprocal_root": 2.0**-14}
"""Of the quadratic pieces."""
VALUE_BITS = (16, 20, 24)
"""Bits by which a piece is looked up, whole digits of a comparison: the fewest that tell the pieces apart."""
BLUR_UNITS = 1.5
"""A threshold is rounded, and a comparison looks at a rounded value."""
WORD_BITS = 64


def piecewise_spec(
    root: bool, low: float, high: float, gain: float, input_bits: int, input_frac: int, output_frac: int
) -> PiecewiseSpec | None:
    """gain / x or gain / sqrt(x) for x in [low, high] as quadratics; None if 64 bits are too few.

    Off by RELATIVE_ERROR, or by about two units of 2^-output_frac where that is more.
    """
    kind: GuessKind = "reciprocal_root" if root else "reciprocal"
    reach = _exponent(high)
    largest = _exponent(gain * (1 / math.sqrt(low) if root else 1 / low) * (1 + RELATIVE_ERROR[kind]))
    # the curvature's rounding counts high^2-fold, and stays below half a unit
    wanted = 2 * input_frac + max(output_frac + 1 + 2 * reach, 0)
    fine = min(wanted, WORD_BITS - 2 - largest)
    work_bits = fine + largest + 2
    if fine < wanted - 2 or fine < output_frac or work_bits <= input_bits:
        return None
    for value_bits in VALUE_BITS:
        coarse_frac = min(input_frac, value_bits - reach)
        try:
            pieces = quadratic_pieces(
                kind, low, high, RELATIVE_ERROR[kind], 2.0 ** (1 - output_frac) / gain,
                BLUR_UNITS * 2.0**-coarse_frac,
            )  # fmt: skip
        except NumericsError:
            continue
        if pieces.thresholds:
            lookup = (input_frac - coarse_frac, min(value_bits + 1, input_bits - input_frac + coarse_frac))
            fracs = (fine, fine - input_frac, fine - 2 * input_frac)
            constants, slopes, curvatures = _scaled(pieces, gain, fracs)
            thresholds = tuple(_units(value, coarse_frac) for value in pieces.thresholds)
            cut_bits = fine - output_frac
            return PiecewiseSpec(
                input_bits, *lookup, thresholds, constants, slopes, curvatures, work_bits, cut_bits
            )
    return None


def _scaled(pieces: QuadraticPieces, gain: float, fracs: tuple[int, int, int]) -> list[tuple[int, ...]]:
    """Constants, slopes and curvatures as signed words."""
    parts = (pieces.constants, pieces.slopes, pieces.curvatures)
    return [
        tuple(_word(_units(gain * value, frac)) for value in values)
        for values, frac in zip(parts, fracs, strict=True)
    ]


def _word(value: int) -> int:
    """The signed 64-bit word that is congruent to it."""
    half = 1 << (WORD_BITS - 1)
    return (value + half) % (2 * half) - half


def _exponent(value: float) -> int:
    """The least e with value <= 2^e; exact, as both parties must agree."""
    mantissa, exponent = math.frexp(value)
    return exponent - 1 if mantissa == 0.5 else exponent


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
