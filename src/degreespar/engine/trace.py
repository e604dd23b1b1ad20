"""Runs shapes only: which correlations a program will consume, window by window, and what it costs.

The payloads are zeros of the right shape; every verb adds its need and its declared messages to the
window's native plan. Both parties compute the same plans from public data alone.
"""

from dataclasses import dataclass, field

import numpy as np

from degreespar._native import Plan
from degreespar.engine.backend import InverseSpec, PiecewiseSpec, PrivateMatrix, PrivateTensor
from degreespar.engine.ring import BitArray, Integers, Words

PART_SEPARATOR = "/"


def part_name(window: str, kind: str) -> str:
    """The name of a kind of work in a window (or in the window of another such part)."""
    return f"{window.partition(PART_SEPARATOR)[0]}{PART_SEPARATOR}{kind}"


@dataclass
class TraceBackend:
    """Implements `Backend` without values."""

    by_kind: bool = False
    """Makes every kind of work inside a window a window of its own, named `window/kind`."""
    windows: list[tuple[str, Plan]] = field(default_factory=list)
    matrices: dict[str, int] = field(default_factory=dict)
    """The number by which the native session knows each weight matrix, in order of first use."""
    reveals: list[str] = field(default_factory=list)

    @property
    def _plan(self) -> Plan:
        if not self.windows:
            self.begin_window("start")
        return self.windows[-1][1]

    def begin_window(self, name: str) -> None:
        self.windows.append((name, Plan()))

    def begin_part(self, kind: str) -> None:
        if self.by_kind:
            last = self.windows[-1][0] if self.windows else "start"
            self.begin_window(part_name(last, kind))

    def observe(self, name: str, x: Words, bits: int, low: int, high: int) -> None:
        """Nobody can look."""

    def constant(self, values: Integers, bits: int) -> Words:
        return np.zeros(values.shape, dtype=np.uint64)

    def constant_bits(self, values: BitArray) -> BitArray:
        return np.zeros(values.shape, dtype=np.uint8)

    def private(self, tensor: PrivateTensor, bits: int) -> Words:
        return np.zeros(tensor.shape, dtype=np.uint64)

    def input(self, values: Integers | None, shape: tuple[int, ...], bits: int) -> Words:
        return np.zeros(shape, dtype=np.uint64)

    def drop_low(self, x: Words, bits: int, by: int) -> Words:
        return x

    def extend(self, x: Words, bits: int, to_bits: int) -> Words:
        self._plan.extend(bits, to_bits, x.size)
        return x

    def extend_all(self, parts: list[tuple[Words, int, int]]) -> list[Words]:
        self._plan.extend_all([(bits, to_bits, x.size) for x, bits, to_bits in parts])
        return [x for x, _, _ in parts]

    def less_than(self, x: Words, bits: int, thresholds: tuple[int, ...]) -> list[BitArray]:
        self._plan.less_than(bits, list(thresholds), x.size)
        return [np.zeros(x.shape, dtype=np.uint8) for _ in thresholds]

    def mux(self, bit: BitArray, x: Words, bits: int) -> Words:
        self._plan.mux(bits, x.size)
        return x

    def mux_rows(self, bit: BitArray, x: Words, bits: int) -> Words:
        self._plan.mux_rows(bits, *x.shape)
        return x

    def arithmetic(self, bit: BitArray, bits: int) -> Words:
        self._plan.arithmetic(bits, bit.size)
        return np.zeros(bit.shape, dtype=np.uint64)

    def square(self, x: Words, bits: int) -> Words:
        self._plan.square(bits, x.size)
        return x

    def extend_square(self, x: Words, bits: int, to_bits: int, nonnegative: bool) -> Words:
        self._plan.extend_square(bits, to_bits, nonnegative, x.size)
        return x

    def product(self, x: Words, y: Words, bits: int) -> Words:
        self._plan.product(bits, x.size)
        return x

    def linear(self, x: Words, weight: PrivateMatrix, bits: int) -> Words:
        number = self.matrices.setdefault(weight.name, len(self.matrices))
        self._plan.linear(number, bits, x.shape[0], weight.inner, weight.cols)
        return np.zeros((x.shape[0], weight.cols), dtype=np.uint64)

    def matmul(self, x: Words, y: Words, bits: int) -> Words:
        batch, rows, inner = x.shape
        self._plan.matmul(bits, batch, rows, inner, y.shape[2])
        return np.zeros((batch, rows, y.shape[2]), dtype=np.uint64)

    def maximum(self, x: Words, bits: int) -> Words:
        self._plan.maximum(bits, *x.shape)
        return np.zeros(x.shape[0], dtype=np.uint64)

    def inverse(self, x: Words, spec: InverseSpec) -> Words:
        self._plan.inverse(spec, x.size)
        return x

    def piecewise(self, x: Words, spec: PiecewiseSpec) -> Words:
        self._plan.piecewise(spec, x.size)
        return x

    def reveal(self, x: Words, bits: int, because: str) -> Integers | None:
        self.reveals.append(because)
        self._plan.reveal(bits, x.size)
        return np.zeros(x.shape, dtype=np.int64)
