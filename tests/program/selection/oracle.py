"""What selection must do, in the plainest words, and a way to run it on the clear engine."""

from collections.abc import Sequence

import numpy as np

from degreespar.degree import Method, Selection
from degreespar.engine.clear import ClearBackend
from degreespar.engine.ops import Ops
from degreespar.engine.ring import signed
from degreespar.engine.secret import Secret
from degreespar.program.selection import route

OPS = Ops(ClearBackend({}))


def kept(scores: Sequence[float], ranges: Sequence[int]) -> list[int]:
    """Positions in the order in which they leave: ranges by significance, position inside a range."""
    by_rank = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    order, start = [], 0
    for size in ranges:
        order += sorted(by_rank[start : start + size])
        start += size
    return order


def secret(values: np.ndarray, bound: float, frac_bits: int = 12) -> Secret:
    """As a value of the clear engine."""
    units = np.round(values * 2.0**frac_bits).astype(np.int64)
    return OPS.input(units, values.shape, frac_bits, bound)


def plain(x: Secret) -> np.ndarray:
    """The value itself."""
    return signed(x.payload, x.bits) / 2.0**x.frac_bits


def check(scores: np.ndarray, ranges: tuple[int, ...], method: Method, width: int = 1) -> None:
    """Rows (..., N, width) routed by scores (..., N) are the oracle's."""
    size = scores.shape[-1]
    rows = np.random.default_rng(size).uniform(-8, 8, size=(*scores.shape, width))
    rows = np.round(rows * 4096) / 4096
    got = plain(route(OPS, secret(scores, 16.0), secret(rows, 8.0), Selection(ranges, 0.5, method)))
    for index in np.ndindex(scores.shape[:-1]):
        np.testing.assert_array_equal(got[index], rows[index][kept(list(scores[index]), ranges)])
