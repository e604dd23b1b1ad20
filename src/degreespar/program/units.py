"""Fraction bits of every kind of number in a program, chosen once."""

ACTIVATION_FRAC = 12
"""The quantisation step of activations is far below what 16-bit weights can tell apart."""
THRESHOLD_FRAC = 8
"""Comparisons with public edges look at this many fraction bits: an edge moves by at most 2^-8."""
EXPONENTIAL_FRAC = 16
"""Each squaring doubles a relative error: six of them leave ten good bits."""
PROBABILITY_FRAC = 13
"""Softmax weights before normalisation; a weight below 2^-13 of the largest is lost."""
RECIPROCAL_FRAC = 18
VARIANCE_FRAC = 10
"""Deviations before they are squared: the sum of many squares averages their rounding out."""
VARIANCE_SUM_FRAC = 16
DEVIATION_FRAC = 16
"""Of the reciprocal standard deviation."""
COEFFICIENT_FRAC = 20
"""GeLU coefficients; at 12 bits their rounding would exceed the polynomial's own error."""
MEAN_FACTOR_FRAC = 20
"""Of 1/width."""
INPUT_FRAC = 12
