"""What an engine must provide: the ring-level verbs. Everything above them is written once, in `ops`.

Arrays are ring words (`uint64` below 2^bits) or bits (`uint8`). Their meaning belongs to the engine.
Verbs marked *bounded* need |x| < 2^(bits-2); what comes out otherwise is garbage, never a leak.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from degreespar.engine.ring import BitArray, Integers, Words

Owner = Literal["client", "server"]


@dataclass(frozen=True)
class PrivateMatrix:
    """A weight matrix that only the server holds: entry * 2^frac_bits fits 16 signed bits."""

    name: str
    inner: int
    cols: int
    frac_bits: int


@dataclass(frozen=True)
class PrivateTensor:
    """Integers that only the server holds, added but never multiplied (biases, positions)."""

    name: str
    shape: tuple[int, ...]
    frac_bits: int


@dataclass(frozen=True)
class InverseSpec:
    """Public parameters of a reciprocal (or reciprocal root): guess, then Newton steps.

    Piece j of the guess holds for thresholds[j-1] <= x < thresholds[j], thresholds in units of
    2^-input_frac; constants in units of 2^-output_frac, slopes in units of 2^-slope_frac.
    All intermediate products are bounded modulo 2^work_bits.
    """

    root: bool
    input_bits: int
    input_frac: int
    output_bits: int
    output_frac: int
    thresholds: tuple[int, ...]
    constants: tuple[int, ...]
    slopes: tuple[int, ...]
    slope_frac: int
    iterations: int
    work_bits: int


@dataclass(frozen=True)
class PiecewiseSpec:
    """Public parameters of a function that is a quadratic on each of several pieces.

    Piece j holds for thresholds[j-1] <= x / 2^coarse_bits < thresholds[j], seen modulo 2^compare_bits and
    off by less than one unit. Its value, modulo 2^work_bits, is constants[j] + slopes[j] x + curvatures[j]
    x^2 over 2^cut_bits.
    """

    input_bits: int
    coarse_bits: int
    compare_bits: int
    thresholds: tuple[int, ...]
    constants: tuple[int, ...]
    slopes: tuple[int, ...]
    curvatures: tuple[int, ...]
    work_bits: int
    cut_bits: int

    @property
    def output_bits(self) -> int:
        """Where the value lives."""
        return self.work_bits - self.cut_bits


class Backend(Protocol):
    """The ring-level verbs of one engine."""

    def begin_window(self, name: str) -> None:
        """Public mark in the program: correlations are prepared, and costs reported, per window."""

    def begin_part(self, kind: str) -> None:
        """Public mark inside a window: the kind of work that follows."""

    def observe(self, name: str, x: Words, bits: int, low: int, high: int) -> None:
        """Public mark: if calibration was right, the integers x lie in low..high."""

    def constant(self, values: Integers, bits: int) -> Words:
        """A public constant."""

    def constant_bits(self, values: BitArray) -> BitArray:
        """Public bits."""

    def private(self, tensor: PrivateTensor, bits: int) -> Words:
        """A tensor that the server holds."""

    def input(self, values: Integers | None, shape: tuple[int, ...], bits: int) -> Words:
        """The client's input; `values` are None at the server."""

    def drop_low(self, x: Words, bits: int, by: int) -> Words:
        """x / 2^by in the ring of bits - by, off by less than one unit; local."""

    def extend(self, x: Words, bits: int, to_bits: int) -> Words:
        """The same signed values in a wider ring (bounded)."""

    def extend_all(self, parts: list[tuple[Words, int, int]]) -> list[Words]:
        """`extend` of several (x, bits, to_bits), in one message."""

    def less_than(self, x: Words, bits: int, thresholds: tuple[int, ...]) -> list[BitArray]:
        """One bit array [x < t] per threshold, for |x - t| < 2^(bits-1)."""

    def mux(self, bit: BitArray, x: Words, bits: int) -> Words:
        """bit * x, element by element."""

    def mux_rows(self, bit: BitArray, x: Words, bits: int) -> Words:
        """Each bit times its row of x (rows, width): one OT a row."""

    def arithmetic(self, bit: BitArray, bits: int) -> Words:
        """The bits as numbers 0 and 1."""

    def square(self, x: Words, bits: int) -> Words:
        """x * x."""

    def extend_square(self, x: Words, bits: int, to_bits: int, nonnegative: bool) -> Words:
        """x * x in a wider ring (bounded, or 0 <= x < 2^(bits-1) if `nonnegative`)."""

    def product(self, x: Words, y: Words, bits: int) -> Words:
        """x * y, element by element."""

    def linear(self, x: Words, weight: PrivateMatrix, bits: int) -> Words:
        """x (rows x inner) times the server's matrix."""

    def matmul(self, x: Words, y: Words, bits: int) -> Words:
        """Batched (batch, rows, inner) x (batch, inner, cols)."""

    def maximum(self, x: Words, bits: int) -> Words:
        """The largest of each row of (rows, cols), any two of which differ by less than 2^(bits-1)."""

    def inverse(self, x: Words, spec: InverseSpec) -> Words:
        """1/x or 1/sqrt(x) within the spec's range."""

    def piecewise(self, x: Words, spec: PiecewiseSpec) -> Words:
        """The spec's function of x (bounded)."""

    def reveal(self, x: Words, bits: int, because: str) -> Integers | None:
        """The signed integers, at the client; None elsewhere."""
