"""What a price list is measured with: every unit of work in several sizes and mixtures.

A unit can be priced when the cases hold it in proportions that no other unit has: so sizes are mixed,
and small batches leave made COTs unused.
"""

from degreespar.bench import cases as made
from degreespar.bench.cases import Case
from degreespar.engine.inverse import inverse_spec, piecewise_spec

SMALL, MEDIUM, LARGE = 1_000, 30_000, 200_000
FULL_SLOTS = 16_384
RINGS = (28, 37, 44, 56, 64)
"""From the narrowest matrix ring of a program to the widest: each leads to other lattice parameters."""
LINEAR_SIZES = ((1, 384, 384), (50, 128, 384), (197, 384, 256), (197, 1024, 96))
MATMUL_SIZES = ((2, 50, 32, 50), (1, 197, 64, 197), (1, 100, 197, 64))


def price_cases() -> list[Case]:
    """In the order in which they run; about half a minute on two cores."""
    return [*_comparisons(), *_choices(), *_pairs(), *_linears(), *_matmuls()]


def _comparisons() -> list[Case]:
    edges = [-100, 0, 100]
    shares, roots = (0.5, 256.0), (2.0**-6, 2.0**4)
    pieces = piecewise_spec(False, *shares, 1.0, 23, 13, 18)
    return [
        *(made.less_than(bits, [0], n) for bits in (12, 20) for n in (SMALL, MEDIUM, LARGE)),
        *(made.less_than(12, edges, n) for n in (MEDIUM, LARGE)),
        *(made.maximum(15, rows, cols) for rows, cols in ((10, 50), (600, 50), (500, 197))),
        *([made.piecewise("piecewise", pieces, shares, 1200)] if pieces else []),
        made.inverse("reciprocal", inverse_spec(False, *shares, 23, 13, 18), shares, 1200),
        made.inverse("reciprocal_root", inverse_spec(True, *roots, 22, 16, 16), roots, 200),
    ]


def _choices() -> list[Case]:
    return [
        *(made.mux(24, n) for n in (SMALL, MEDIUM, LARGE)),
        *(made.extend(24, 37, n) for n in (SMALL, LARGE)),
        made.mux_rows(24, 60, 384),
        made.mux_rows(24, 700, 384),
        made.arithmetic(16, MEDIUM),
        made.reveal(24, 10),
        made.reveal(64, LARGE),
    ]


def _pairs() -> list[Case]:
    squares = [made.square(bits, n) for bits in (28, 37, 48) for n in (SMALL, FULL_SLOTS, 4 * FULL_SLOTS)]
    products = [
        made.product(bits, n) for bits in (16, 28, 37, 48) for n in (SMALL, FULL_SLOTS, 2 * FULL_SLOTS)
    ]
    wider = [made.extend_square(17, 33, n) for n in (SMALL, FULL_SLOTS, 4 * FULL_SLOTS)]
    by_ot = [made.square(12, MEDIUM), made.square(62, SMALL), made.product(62, SMALL)]
    return [*squares, *wider, *products, *by_ot]


def _linears() -> list[Case]:
    sizes = [(bits, *size) for bits in RINGS for size in LINEAR_SIZES]
    return [made.linear(*size, number) for number, size in enumerate(sizes)]


def _matmuls() -> list[Case]:
    return [made.matmul(bits, *size) for bits in RINGS for size in MATMUL_SIZES]
