"""The oracle: the same program in exact fixed-point arithmetic, on the values themselves.

It differs from a two-party run in one place only: `drop_low` rounds to the nearest unit here, where
shares round up or down by chance (at most one unit apart).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from degreespar.engine.backend import InverseSpec, PiecewiseSpec, PrivateMatrix, PrivateTensor
from degreespar.engine.ring import BitArray, Integers, Words, encode, exact_matmul, reduce, signed
from degreespar.engine.saturation import Saturation


@dataclass
class ClearBackend:
    """Implements `Backend` for one process that holds everything."""

    weights: Mapping[str, Integers]
    """All of the server's integers, by name."""
    reveals: list[str] = field(default_factory=list)

    saturations: dict[tuple[str, str], Saturation] = field(default_factory=dict)
    """By window and point, what was observed there."""
    _window: str = ""

    def begin_window(self, name: str) -> None:
        """Nothing to prepare."""
        self._window = name

    def begin_part(self, kind: str) -> None:
        """Nothing to report."""

    def observe(self, name: str, x: Words, bits: int, low: int, high: int) -> None:
        place = self._window, name
        count = Saturation.of(signed(x, bits), low, high)
        self.saturations[place] = self.saturations.get(place, Saturation()) + count

    def constant(self, values: Integers, bits: int) -> Words:
        return encode(values, bits)

    def constant_bits(self, values: BitArray) -> BitArray:
        return values

    def private(self, tensor: PrivateTensor, bits: int) -> Words:
        return encode(self.weights[tensor.name], bits)

    def input(self, values: Integers | None, shape: tuple[int, ...], bits: int) -> Words:
        if values is None or values.shape != shape:
            raise ValueError(f"the clear engine needs the input itself, of shape {shape}")
        return encode(values, bits)

    def drop_low(self, x: Words, bits: int, by: int) -> Words:
        half = np.int64(1) << np.int64(by - 1)
        rounded = signed(x, bits) + half if bits < 64 else _add_saturating(signed(x, bits), half)
        return encode(rounded >> np.int64(by), bits - by)

    def extend(self, x: Words, bits: int, to_bits: int) -> Words:
        return encode(signed(x, bits), to_bits)

    def extend_all(self, parts: list[tuple[Words, int, int]]) -> list[Words]:
        return [self.extend(x, bits, to_bits) for x, bits, to_bits in parts]

    def less_than(self, x: Words, bits: int, thresholds: tuple[int, ...]) -> list[BitArray]:
        values = signed(x, bits)
        return [(values < threshold).astype(np.uint8) for threshold in thresholds]

    def mux(self, bit: BitArray, x: Words, bits: int) -> Words:
        return x * bit

    def mux_rows(self, bit: BitArray, x: Words, bits: int) -> Words:
        return x * bit[:, None]

    def arithmetic(self, bit: BitArray, bits: int) -> Words:
        return bit.astype(np.uint64)

    def square(self, x: Words, bits: int) -> Words:
        return reduce(x * x, bits)

    def extend_square(self, x: Words, bits: int, to_bits: int, nonnegative: bool) -> Words:
        wide = x if nonnegative else encode(signed(x, bits), 64)
        return reduce(wide * wide, to_bits)

    def product(self, x: Words, y: Words, bits: int) -> Words:
        return reduce(x * y, bits)

    def linear(self, x: Words, weight: PrivateMatrix, bits: int) -> Words:
        matrix = self.weights[weight.name].astype(np.int64)
        return reduce(exact_matmul(signed(x, bits), matrix), bits)

    def matmul(self, x: Words, y: Words, bits: int) -> Words:
        return reduce(exact_matmul(signed(x, bits), signed(y, bits)), bits)

    def maximum(self, x: Words, bits: int) -> Words:
        return encode(signed(x, bits).max(axis=1), bits)

    def inverse(self, x: Words, spec: InverseSpec) -> Words:
        """The steps of the native `Inverse`, on plain integers."""
        bits, unit = spec.work_bits, 1 << spec.output_frac
        wide = encode(signed(x, spec.input_bits), bits)
        y = self._guess(signed(x, spec.input_bits), wide, spec)
        for _ in range(spec.iterations):
            if spec.root:
                squared = self._shrink(y * y, bits, spec.output_frac)
                t = self._shrink(wide * squared, bits, spec.input_frac)
                y = self._shrink(y * (np.uint64(3 * unit) - t), bits, spec.output_frac + 1)
            else:
                t = self._shrink(wide * y, bits, spec.input_frac)
                y = self._shrink(y * (np.uint64(2 * unit) - t), bits, spec.output_frac)
        return encode(signed(y, bits), spec.output_bits)

    def piecewise(self, x: Words, spec: PiecewiseSpec) -> Words:
        """The native steps, on plain integers."""
        coarse = self.drop_low(x, spec.input_bits, spec.coarse_bits) if spec.coarse_bits else x
        seen = signed(coarse, spec.input_bits - spec.coarse_bits)
        piece = np.searchsorted(np.array(spec.thresholds, dtype=np.int64), seen, side="right")
        wide = encode(signed(x, spec.input_bits), 64)
        value = np.zeros(x.shape, dtype=np.uint64)
        for factors in (spec.curvatures, spec.slopes, spec.constants):
            value = reduce(value * wide + encode(np.array(factors, dtype=np.int64), 64)[piece], 64)
        return self.drop_low(reduce(value, spec.work_bits), spec.work_bits, spec.cut_bits)

    def reveal(self, x: Words, bits: int, because: str) -> Integers | None:
        self.reveals.append(because)
        return signed(x, bits)

    def _guess(self, values: Integers, wide: Words, spec: InverseSpec) -> Words:
        piece = np.searchsorted(np.array(spec.thresholds, dtype=np.int64), values, side="right")
        shift = spec.slope_frac + spec.input_frac - spec.output_frac
        constants = encode(np.array(spec.constants), 64)[piece] << np.uint64(shift)
        fine = encode(np.array(spec.slopes), 64)[piece] * wide + constants
        return self._shrink(fine, spec.work_bits, shift)

    def _shrink(self, x: Words, bits: int, by: int) -> Words:
        """drop_low, and back into the ring of `bits`."""
        if by == 0:
            return reduce(x, bits)
        return encode(signed(self.drop_low(reduce(x, bits), bits, by), bits - by), bits)


def _add_saturating(x: Integers, y: np.int64) -> Integers:
    return np.where(x > np.int64(2**63 - 1) - y, x, x + y)
