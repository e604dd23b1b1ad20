"""Fraction bits of every kind of number in a program, chosen once."""

from degreespar.engine.ring import required_bits

NARROW_FACTOR_BITS = 19
NARROW_MATRIX_BITS = 30
"""Widest rings of what is squared, and of matrix products, on the cheapest ciphertexts.

See docs/security-lattice.md."""

ACTIVATION_FRAC = 12
"""The quantisation step of activations is far below what 16-bit weights can tell apart."""
THRESHOLD_FRAC = 8
"""Comparisons with public edges look at this many fraction bits: an edge moves by at most 2^-8."""
MAXIMUM_BITS = 17
MAXIMUM_FRAC = 10
"""Row maxima are found among rounded scores: a difference has 16 bits, four digits of a comparison."""
MOST_EXPONENTIAL_FRAC = 16
PROBABILITY_FRAC = 13
"""Softmax weights before normalisation; a weight below 2^-13 of the largest is lost."""
RECIPROCAL_FRAC = 18
VARIANCE_FRAC = range(8, 11)
"""Deviations before they are squared: the sum of many squares averages their rounding out."""
SCORE_FACTOR_FRAC = range(10, 13)
"""Queries and keys before their product: a sum over the head's width averages their rounding out."""
VARIANCE_SUM_FRAC = 16
VARIANCE_FACTOR_FRAC = 20
"""Of what brings a variance back to its own scale."""
DEVIATION_FRAC = 16
"""Of the reciprocal standard deviation."""
COEFFICIENT_FRAC = 20
"""GeLU coefficients; at 12 bits their rounding would exceed the polynomial's own error."""
INPUT_FRAC = 12
ATTENTION_FRAC = 18
"""Of what [CLS] pays, one head's share: among many tokens it is small."""
SIGNIFICANCE_FRAC = range(16, 21)
"""Of variance and attention as fractions of one, before they are mixed."""
MIX_FRAC = 10
"""Of alpha."""
SCORE_SUM_FRAC = 14
"""Of the sums that scores are normalised by."""
SCORE_DIGITS = 12
"""Binary digits of a typical significance score: closer ones count as equal, and their order decides."""


def factor_frac(bound: float, choices: range, ring_bits: int) -> int:
    """The most fraction bits of two equal factors whose product, below `bound`, stays within the ring."""
    fitting = [frac for frac in choices if required_bits(bound, 2 * frac) <= ring_bits]
    return max(fitting, default=choices[0])


def exponential_frac(squarings_left: int) -> int:
    """Of a power that is still to be squared so often: each squaring doubles a relative error."""
    return (
        min(MOST_EXPONENTIAL_FRAC, PROBABILITY_FRAC - 1 + squarings_left)
        if squarings_left
        else PROBABILITY_FRAC
    )
