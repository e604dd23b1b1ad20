"""The real thing: one party's side of every verb, over the native session.

The payloads are this party's shares; the other party runs the same program on its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from degreespar._native import Session
from degreespar.engine.backend import InverseSpec, PiecewiseSpec, PrivateMatrix, PrivateTensor
from degreespar.engine.ring import BitArray, Integers, Words, encode, signed


def _no_hook(name: str) -> None:
    """Nothing happens at a window."""


@dataclass
class TwoPartyBackend:
    """Implements `Backend` for one of the two parties."""

    session: Session
    tensors: Mapping[str, Integers]
    """The server's private tensors by name; empty at the client."""
    matrices: Mapping[str, int]
    """Numbers of the weight matrices in the native session (from the trace)."""
    on_window: Callable[[str], None] = _no_hook
    """Called at the start of each window: prepares it just in time, reports progress."""
    on_part: Callable[[str], None] = _no_hook
    """Called at the start of each kind of work inside a window."""
    reveals: list[str] = field(default_factory=list)

    def begin_window(self, name: str) -> None:
        self.on_window(name)

    def begin_part(self, kind: str) -> None:
        self.on_part(kind)

    def observe(self, name: str, x: Words, bits: int, low: int, high: int) -> None:
        """Nobody can look."""

    def constant(self, values: Integers, bits: int) -> Words:
        return encode(values, bits) if self.session.is_server else np.zeros(values.shape, np.uint64)

    def constant_bits(self, values: BitArray) -> BitArray:
        return values if self.session.is_server else np.zeros_like(values)

    def private(self, tensor: PrivateTensor, bits: int) -> Words:
        if self.session.is_server:
            return encode(self.tensors[tensor.name], bits)
        return np.zeros(tensor.shape, dtype=np.uint64)

    def input(self, values: Integers | None, shape: tuple[int, ...], bits: int) -> Words:
        """The client keeps its input as its share, the server's share is zero: nothing is sent."""
        if self.session.is_server:
            return np.zeros(shape, dtype=np.uint64)
        if values is None or values.shape != shape:
            raise ValueError(f"the client's input has the shape {shape}")
        return encode(values, bits)

    def drop_low(self, x: Words, bits: int, by: int) -> Words:
        return self.session.drop_low(x, bits, by)

    def extend(self, x: Words, bits: int, to_bits: int) -> Words:
        return self.session.extend(x, bits, to_bits)

    def extend_all(self, parts: list[tuple[Words, int, int]]) -> list[Words]:
        return self.session.extend_all(parts)

    def less_than(self, x: Words, bits: int, thresholds: tuple[int, ...]) -> list[BitArray]:
        return self.session.less_than(x, bits, list(thresholds))

    def mux(self, bit: BitArray, x: Words, bits: int) -> Words:
        return self.session.mux(bit, x, bits)

    def mux_rows(self, bit: BitArray, x: Words, bits: int) -> Words:
        return self.session.mux_rows(bit, x, bits)

    def arithmetic(self, bit: BitArray, bits: int) -> Words:
        return self.session.arithmetic(bit, bits)

    def square(self, x: Words, bits: int) -> Words:
        return self.session.square(x, bits)

    def extend_square(self, x: Words, bits: int, to_bits: int, nonnegative: bool) -> Words:
        return self.session.extend_square(x, bits, to_bits, nonnegative)

    def product(self, x: Words, y: Words, bits: int) -> Words:
        return self.session.product(x, y, bits)

    def linear(self, x: Words, weight: PrivateMatrix, bits: int) -> Words:
        return self.session.linear(x, self.matrices[weight.name], bits)

    def matmul(self, x: Words, y: Words, bits: int) -> Words:
        return self.session.matmul(x, y, bits)

    def maximum(self, x: Words, bits: int) -> Words:
        return self.session.maximum(x, bits)

    def inverse(self, x: Words, spec: InverseSpec) -> Words:
        return self.session.inverse(x, spec)

    def piecewise(self, x: Words, spec: PiecewiseSpec) -> Words:
        return self.session.piecewise(x, spec)

    def reveal(self, x: Words, bits: int, because: str) -> Integers | None:
        self.reveals.append(because)
        opened = self.session.reveal(x, bits)
        return None if opened is None else signed(opened, bits)
