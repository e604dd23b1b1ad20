"""One primitive at one size, as benches and price lists run it.

The inputs are random shares, so the values are random too, often out of a primitive's bounds: results
are garbage then, but the work, the messages and the time do not depend on values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from degreespar._native import Plan, Session
from degreespar.engine.backend import InverseSpec, PiecewiseSpec
from degreespar.engine.ring import BitArray, Words, reduce

SEED = 2026


@dataclass(frozen=True)
class Case:
    """Its public arguments, its inputs, and the call of either party."""

    name: str
    bits: int
    elements: int
    config: dict[str, object]
    declare: Callable[[Plan], None]
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    perform: Callable[..., object]
    weight: tuple[int, int] | None = None
    weight_number: int = 0

    def plan(self) -> Plan:
        """What it needs and sends."""
        plan = Plan()
        self.declare(plan)
        return plan

    def own_inputs(self, session: Session) -> tuple[Any, ...]:
        """This party's shares."""
        return self.inputs(np.random.default_rng(SEED + session.is_server))

    def place_weight(self, session: Session) -> None:
        """The server's matrix, where there is one."""
        if self.weight is None:
            return
        if session.is_server:
            matrix = np.random.default_rng(SEED).integers(-(2**15), 2**15, self.weight, dtype=np.int16)
            session.load_weight(self.weight_number, matrix)
        else:
            session.declare_weight(self.weight_number, *self.weight)


def extend(bits: int, to_bits: int, n: int) -> Case:
    """Wider rings."""
    return Case("extend", bits, n, {"to_bits": to_bits}, lambda p: p.extend(bits, to_bits, n),
                _words(bits, n), lambda s, x: s.extend(x, bits, to_bits))  # fmt: skip


def less_than(bits: int, thresholds: Sequence[int], n: int) -> Case:
    """Comparisons with public thresholds."""
    edges = list(thresholds)
    return Case("less_than", bits, n, {"thresholds": len(edges)}, lambda p: p.less_than(bits, edges, n),
                _words(bits, n), lambda s, x: s.less_than(x, bits, edges))  # fmt: skip


def mux(bits: int, n: int) -> Case:
    """Bits times values."""
    return Case("mux", bits, n, {}, lambda p: p.mux(bits, n), _bit_and_words(bits, n),
                lambda s, bit, x: s.mux(bit, x, bits))  # fmt: skip


def mux_rows(bits: int, rows: int, width: int) -> Case:
    """Bits times rows."""
    return Case("mux_rows", bits, rows * width, {"width": width}, lambda p: p.mux_rows(bits, rows, width),
                _bits_and_rows(bits, rows, width), lambda s, bit, x: s.mux_rows(bit, x, bits))  # fmt: skip


def arithmetic(bits: int, n: int) -> Case:
    """Bits as numbers."""
    return Case("arithmetic", bits, n, {}, lambda p: p.arithmetic(bits, n), _only_bits(n),
                lambda s, bit: s.arithmetic(bit, bits))  # fmt: skip


def square(bits: int, n: int) -> Case:
    """Squares."""
    return Case("square", bits, n, {}, lambda p: p.square(bits, n), _words(bits, n),
                lambda s, x: s.square(x, bits))  # fmt: skip


def extend_square(bits: int, to_bits: int, n: int) -> Case:
    """Squares in a wider ring."""
    config: dict[str, object] = {"to_bits": to_bits}
    return Case("extend_square", bits, n, config, lambda p: p.extend_square(bits, to_bits, False, n),
                _words(bits, n), lambda s, x: s.extend_square(x, bits, to_bits, False))  # fmt: skip


def product(bits: int, n: int) -> Case:
    """Products of two secrets."""
    return Case("product", bits, n, {}, lambda p: p.product(bits, n), _two_words(bits, (n,), (n,)),
                lambda s, x, y: s.product(x, y, bits))  # fmt: skip


def reveal(bits: int, n: int) -> Case:
    """Opening to the client."""
    return Case("reveal", bits, n, {}, lambda p: p.reveal(bits, n), _words(bits, n),
                lambda s, x: s.reveal(x, bits))  # fmt: skip


def maximum(bits: int, rows: int, cols: int) -> Case:
    """The largest of each row."""
    return Case("maximum", bits, rows * cols, {"rows": rows, "cols": cols},
                lambda p: p.maximum(bits, rows, cols), _words(bits, rows, cols),
                lambda s, x: s.maximum(x, bits))  # fmt: skip


def inverse(name: str, spec: InverseSpec, span: Sequence[float], n: int) -> Case:
    """A reciprocal or a reciprocal root on the range that the spec was made for."""
    return Case(name, spec.work_bits, n, {"range": list(span)}, lambda p: p.inverse(spec, n),
                _words(spec.input_bits, n), lambda s, x: s.inverse(x, spec))  # fmt: skip


def piecewise(name: str, spec: PiecewiseSpec, span: Sequence[float], n: int) -> Case:
    """A reciprocal or a reciprocal root as quadratic pieces."""
    config: dict[str, object] = {"range": list(span), "pieces": len(spec.constants)}
    return Case(name, spec.work_bits, n, config, lambda p: p.piecewise(spec, n),
                _words(spec.input_bits, n), lambda s, x: s.piecewise(x, spec))  # fmt: skip


def linear(bits: int, rows: int, inner: int, cols: int, number: int = 0) -> Case:
    """A product with the server's matrix of that number; elements are those of the result."""
    return Case("linear", bits, rows * cols, {"rows": rows, "inner": inner, "cols": cols},
                lambda p: p.linear(number, bits, rows, inner, cols), _words(bits, rows, inner),
                lambda s, x: s.linear(x, number, bits), (inner, cols), number)  # fmt: skip


def matmul(bits: int, batch: int, rows: int, inner: int, cols: int) -> Case:
    """Products of secret matrices; elements are those of the result."""
    sizes = {"batch": batch, "rows": rows, "inner": inner, "cols": cols}
    return Case("matmul", bits, batch * rows * cols, {**sizes},
                lambda p: p.matmul(bits, batch, rows, inner, cols),
                _two_words(bits, (batch, rows, inner), (batch, inner, cols)),
                lambda s, x, y: s.matmul(x, y, bits))  # fmt: skip


def _words(bits: int, *shape: int) -> Callable[[np.random.Generator], tuple[Words]]:
    return lambda rng: (reduce(rng.integers(0, 2**64, shape, dtype=np.uint64), bits),)


def _two_words(bits: int, first: tuple[int, ...], second: tuple[int, ...]) -> Callable[..., Any]:
    return lambda rng: (*_words(bits, *first)(rng), *_words(bits, *second)(rng))


def _only_bits(count: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (rng.integers(0, 2, count, dtype=np.uint8),)


def _bits_and_rows(bits: int, rows: int, width: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    words = _words(bits, rows * width)
    return lambda rng: (*_only_bits(rows)(rng), words(rng)[0].reshape(rows, width))


def _bit_and_words(bits: int, count: int) -> Callable[[np.random.Generator], tuple[BitArray, Words]]:
    return lambda rng: (rng.integers(0, 2, count, dtype=np.uint8), *_words(bits, count)(rng))
