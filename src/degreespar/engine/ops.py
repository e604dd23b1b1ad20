"""The verbs that a secure program is written in: fixed-point arithmetic over any engine.

Every verb works in the narrowest ring that the public bounds allow: widening costs one OT per
element, narrowing and dropping low bits are free.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from degreespar.engine.backend import Backend, PrivateMatrix, PrivateTensor
from degreespar.engine.inverse import inverse_spec, piecewise_spec
from degreespar.engine.layout import Index
from degreespar.engine.ring import Integers, Words, reduce, required_bits
from degreespar.engine.secret import Secret, SecretBits


def linear_bits(frac_bits: int, weight: PrivateMatrix, bound: float) -> int:
    """The ring of a linear layer whose input has `frac_bits` and whose result stays within `bound`."""
    return required_bits(bound, frac_bits + weight.frac_bits)


@dataclass(frozen=True)
class Ops:
    """Fixed-point verbs over one engine."""

    backend: Backend

    @contextmanager
    def window(self, name: str) -> Iterator[None]:
        """A part of the program that is prepared, metered and reported as one."""
        self.backend.begin_window(name)
        yield

    def part(self, kind: str) -> None:
        """The work that follows is of this kind, until the next mark: profiles report it apart."""
        self.backend.begin_part(kind)

    def observe(self, name: str, x: Secret, low: float | None = None) -> Secret:
        """x, at a calibrated point: the clear engine counts what is out of -bound..bound (or low..bound)."""
        unit = 2.0**x.frac_bits
        lowest = -x.bound if low is None else low
        self.backend.observe(name, x.payload, x.bits, math.floor(lowest * unit), math.ceil(x.bound * unit))
        return x

    # values ------------------------------------------------------------------------------------

    def input(
        self,
        values: Integers | None,
        shape: tuple[int, ...],
        frac_bits: int,
        bound: float,
        bits: int | None = None,
    ) -> Secret:
        """The client's numbers, as integers in units of 2^-frac_bits (None at the server).

        The owner can share them in any ring for free: `bits` names the one that is used next.
        """
        bits = required_bits(bound, frac_bits) if bits is None else bits
        return Secret(self.backend.input(values, shape, bits), bits, frac_bits, bound)

    def zeros(self, shape: tuple[int, ...], like: Secret) -> Secret:
        """Public zeros in another secret's ring and units."""
        return replace(like, payload=np.zeros(shape, dtype=np.uint64))

    def add_private(
        self, x: Secret, tensor: PrivateTensor, bound: float, first_rows: int | None = None
    ) -> Secret:
        """x plus a tensor of the server's (or the first rows of it), in the same units."""
        if tensor.frac_bits != x.frac_bits:
            raise ValueError(f"{tensor.name} has {tensor.frac_bits} fraction bits, not {x.frac_bits}")
        x = self.at_least(x, required_bits(bound, x.frac_bits))
        total = x.payload + self.backend.private(tensor, x.bits)[:first_rows]
        return replace(x, payload=reduce(total, x.bits), bound=bound)

    def assume(self, x: Secret, bound: float) -> Secret:
        """States a calibrated bound; the ring shrinks to what it needs."""
        return self.at_most(replace(x, bound=bound), required_bits(bound, x.frac_bits))

    # rings -------------------------------------------------------------------------------------

    def at_least(self, x: Secret, bits: int) -> Secret:
        """x in a ring of at least `bits`."""
        if x.bits >= bits:
            return x
        return replace(x, payload=self.backend.extend(x.payload, x.bits, bits), bits=bits)

    def at_most(self, x: Secret, bits: int) -> Secret:
        """x in a ring of at most `bits`: high bits fall away, for free."""
        if x.bits <= bits:
            return x
        return replace(x, payload=reduce(x.payload, bits), bits=bits)

    def at(self, x: Secret, bits: int) -> Secret:
        """x in the ring of exactly `bits`."""
        return self.at_most(self.at_least(x, bits), bits)

    def at_all(self, parts: Sequence[tuple[Secret, int]]) -> list[Secret]:
        """Each in the ring of exactly so many bits: the wider ones in one message."""
        wider = [(x, bits) for x, bits in parts if x.bits < bits]
        if len(wider) < 2:
            return [self.at(x, bits) for x, bits in parts]
        extended = self.backend.extend_all(
            [(np.ascontiguousarray(x.payload), x.bits, bits) for x, bits in wider]
        )
        found = iter(extended)
        return [
            replace(x, payload=next(found), bits=bits) if x.bits < bits else self.at_most(x, bits)
            for x, bits in parts
        ]

    def rescale(self, x: Secret, frac_bits: int) -> Secret:
        """x in coarser units, off by less than one of them; free."""
        by = x.frac_bits - frac_bits
        if by < 0:
            raise ValueError(f"cannot refine {x.frac_bits} fraction bits to {frac_bits}")
        if by == 0:
            return x
        payload = self.backend.drop_low(x.payload, x.bits, by)
        return replace(x, payload=payload, bits=x.bits - by, frac_bits=frac_bits)

    def refine(self, x: Secret, frac_bits: int) -> Secret:
        """x in finer units: the integers grow by a public power of two, and so may the ring."""
        by = frac_bits - x.frac_bits
        if by == 0:
            return x
        bits = min(x.bits + by, 64)
        return Secret(reduce(x.payload << np.uint64(by), bits), bits, frac_bits, x.bound)

    # linear over shares ------------------------------------------------------------------------

    def add(self, x: Secret, y: Secret, bound: float | None = None) -> Secret:
        """x + y, broadcasting."""
        return self._combine(x, y, bound, sign=1)

    def subtract(self, x: Secret, y: Secret, bound: float | None = None) -> Secret:
        """x - y, broadcasting."""
        return self._combine(x, y, bound, sign=-1)

    def add_public(self, x: Secret, value: float | NDArray[np.float64], bound: float) -> Secret:
        """x plus one public number, or an array of them that is broadcast."""
        x = self.at_least(x, required_bits(bound, x.frac_bits))
        units = np.broadcast_to(np.rint(np.asarray(value) * 2.0**x.frac_bits), x.shape).astype(np.int64)
        total = x.payload + self.backend.constant(units, x.bits)
        return replace(x, payload=reduce(total, x.bits), bound=bound)

    def scale(self, x: Secret, factor: float, factor_frac_bits: int, frac_bits: int) -> Secret:
        """x times a public number rounded to `factor_frac_bits`; the result in units of 2^-frac_bits."""
        units = round(factor * 2.0**factor_frac_bits)
        bound = max(x.bound * abs(factor), 2.0**-frac_bits)
        fine = x.frac_bits + factor_frac_bits
        x = self.at(x, required_bits(bound, fine))
        payload = reduce(x.payload * np.uint64(units & (2**64 - 1)), x.bits)
        return self.rescale(Secret(payload, x.bits, fine, bound), frac_bits)

    def halve(self, x: Secret, times: int) -> Secret:
        """x / 2^times, exactly: only the units change."""
        return replace(x, frac_bits=x.frac_bits + times, bound=x.bound / 2.0**times)

    def sum(self, x: Secret, axis: int, bound: float) -> Secret:
        """The sum along an axis."""
        x = self.at_least(x, required_bits(bound, x.frac_bits))
        total: Words = x.payload.sum(axis=axis, dtype=np.uint64)
        return replace(x, payload=reduce(total, x.bits), bound=bound)

    def running_sum(self, x: Secret, bound: float) -> Secret:
        """Along the last axis, the sum of the entries before each one, and of all at the end."""
        x = self.at_least(x, required_bits(bound, x.frac_bits))
        total = np.zeros((*x.shape[:-1], x.shape[-1] + 1), dtype=np.uint64)
        np.cumsum(x.payload, axis=-1, out=total[..., 1:])
        return replace(x, payload=reduce(total, x.bits), bound=bound)

    def less_mean(self, x: Secret, bound: float) -> Secret:
        """width * x - sum(x) along the last axis: `width` times what x is above its mean."""
        total: Words = x.payload.sum(axis=-1, dtype=np.uint64, keepdims=True)
        scaled = x.payload * np.uint64(x.shape[-1]) - total
        return replace(x, payload=reduce(scaled, x.bits), bound=bound)

    def weighted_sum(self, terms: Sequence[tuple[Secret, float]], factor_frac_bits: int,
                     constant: float, frac_bits: int, bound: float) -> Secret:  # fmt: skip
        """constant + the sum of public factors times secrets of one shape, rounded once at the end."""
        fine = max(x.frac_bits for x, _ in terms) + factor_frac_bits
        bits = required_bits(bound, fine)
        total = self.backend.constant(
            np.full(terms[0][0].shape, round(constant * 2.0**fine), dtype=np.int64), bits
        )
        wide = self.at_all([(x, bits) for x, _ in terms])
        for x, (_, factor) in zip(wide, terms, strict=True):
            units = round(factor * 2.0 ** (fine - x.frac_bits))
            total = total + x.payload * np.uint64(units & (2**64 - 1))
        return self.rescale(Secret(reduce(total, bits), bits, fine, bound), frac_bits)

    # products ----------------------------------------------------------------------------------

    def linear(self, x: Secret, weight: PrivateMatrix, bound: float) -> Secret:
        """x (..., inner) times the server's matrix; result in x's units, |result| <= bound."""
        fine = x.frac_bits + weight.frac_bits
        bits = linear_bits(x.frac_bits, weight, bound)
        rows = np.ascontiguousarray(self.at(x, bits).payload.reshape(-1, weight.inner))
        payload = self.backend.linear(rows, weight, bits).reshape(*x.shape[:-1], weight.cols)
        return self.rescale(Secret(payload, bits, fine, bound), x.frac_bits)

    def matmul(self, x: Secret, y: Secret, bound: float, frac_bits: int) -> Secret:
        """Batched (..., rows, inner) x (..., inner, cols) of equal leading shape."""
        fine = x.frac_bits + y.frac_bits
        bits = required_bits(bound, fine)
        left, right = (z.payload for z in self.at_all([(x, bits), (y, bits)]))
        payload = self.backend.matmul(
            np.ascontiguousarray(left.reshape(-1, *left.shape[-2:])),
            np.ascontiguousarray(right.reshape(-1, *right.shape[-2:])),
            bits,
        ).reshape(*left.shape[:-1], right.shape[-1])
        return self.rescale(Secret(payload, bits, fine, bound), frac_bits)

    def square(self, x: Secret, bound: float, frac_bits: int, nonnegative: bool = False) -> Secret:
        """x * x. A `nonnegative` x is in [0, 2 * x.bound), and its square in [0, 2 * bound)."""
        fine = 2 * x.frac_bits
        bits = required_bits(bound, fine)
        x = self.at_most(x, required_bits(x.bound, x.frac_bits))
        words = np.ascontiguousarray(x.payload)
        if x.bits < bits:
            payload = self.backend.extend_square(words, x.bits, bits, nonnegative)
        else:
            payload = self.backend.square(reduce(words, bits), bits)
        return self.rescale(Secret(payload, bits, fine, bound), frac_bits)

    def multiply(self, x: Secret, y: Secret, bound: float, frac_bits: int) -> Secret:
        """x * y, element by element, broadcasting (the smaller one is widened before it is repeated)."""
        fine = x.frac_bits + y.frac_bits
        bits = required_bits(bound, fine)
        left, right = np.broadcast_arrays(*(z.payload for z in self.at_all([(x, bits), (y, bits)])))
        payload = self.backend.product(np.ascontiguousarray(left), np.ascontiguousarray(right), bits)
        return self.rescale(Secret(payload, bits, fine, bound), frac_bits)

    # comparisons -------------------------------------------------------------------------------

    def less_than(self, x: Secret, thresholds: Sequence[float], frac_bits: int) -> list[SecretBits]:
        """[x < t] for public thresholds, x seen in units of 2^-frac_bits (edges move by one of them)."""
        coarse = self.rescale(x, min(frac_bits, x.frac_bits))
        units = tuple(round(t * 2.0**coarse.frac_bits) for t in thresholds)
        # rounding may add a unit; only differences need to fit
        reach = math.ceil(x.bound * 2.0**coarse.frac_bits) + 1 + max(abs(unit) for unit in units)
        coarse = self.at(coarse, max(reach.bit_length() + 1, 3))
        payload = np.ascontiguousarray(coarse.payload)
        return [SecretBits(bit) for bit in self.backend.less_than(payload, coarse.bits, units)]

    def less(self, x: Secret, y: Secret) -> SecretBits:
        """[x < y] between secrets of one shape, exactly."""
        difference = self.subtract(x, y)
        payload = np.ascontiguousarray(difference.payload)
        return SecretBits(self.backend.less_than(payload, difference.bits, (0,))[0])

    def bit_at(self, x: Secret, positions: Index) -> SecretBits:
        """The bit of weight 2^position of each integer of x; positions are public and broadcast."""
        raised = x.payload << (x.bits - 1 - positions).astype(np.uint64)
        payload = np.ascontiguousarray(reduce(raised, x.bits))
        return SecretBits(self.backend.less_than(payload, x.bits, (0,))[0])

    def either(self, left: SecretBits, right: SecretBits) -> SecretBits:
        """Exactly one of the two."""
        return SecretBits(left.payload ^ right.payload)

    def negate_bits(self, bit: SecretBits) -> SecretBits:
        """1 - bit."""
        ones = self.backend.constant_bits(np.ones(bit.shape, dtype=np.uint8))
        return SecretBits(bit.payload ^ ones)

    def mask(self, bit: SecretBits, x: Secret, bound: float | None = None) -> Secret:
        """bit * x. With `bound`, x may be anything where the bit is 0."""
        kept = bound or x.bound
        x = self.at_most(replace(x, bound=kept), required_bits(kept, x.frac_bits))
        payload = self.backend.mux(bit.payload, np.ascontiguousarray(x.payload), x.bits)
        return replace(x, payload=payload)

    def mask_all(self, x: Secret, bits: Sequence[SecretBits]) -> list[Secret]:
        """bit * x for several bits, in one message."""
        x = self.at_most(x, required_bits(x.bound, x.frac_bits))
        choices = np.ascontiguousarray(np.stack([bit.payload for bit in bits]))
        words = np.ascontiguousarray(np.stack([x.payload] * len(bits)))
        payload = self.backend.mux(choices, words, x.bits)
        return [replace(x, payload=part) for part in payload]

    def swap_rows(self, bit: SecretBits, x: Secret, y: Secret) -> tuple[Secret, Secret]:
        """(y, x) where the bit is 1, (x, y) where it is 0: a bit (..., ) for rows (..., width).

        The difference lives modulo 2^bits, so that x and y may fill their ring.
        """
        if (x.bits, x.frac_bits) != (y.bits, y.frac_bits):
            raise ValueError("rows of different rings or units cannot be exchanged")
        width = x.shape[-1]
        difference = reduce(x.payload - y.payload, x.bits).reshape(-1, width)
        choices = np.ascontiguousarray(bit.payload.reshape(-1))
        moved = self.backend.mux_rows(choices, np.ascontiguousarray(difference), x.bits).reshape(x.shape)
        bound = max(x.bound, y.bound)
        first = replace(x, payload=reduce(x.payload - moved, x.bits), bound=bound)
        return first, replace(y, payload=reduce(y.payload + moved, x.bits), bound=bound)

    def as_number(self, bit: SecretBits, bits: int) -> Secret:
        """0 or 1, in the ring of `bits`."""
        payload = self.backend.arithmetic(np.ascontiguousarray(bit.payload), bits)
        return Secret(payload, bits, 0, 1.0)

    def maximum(self, x: Secret) -> Secret:
        """The largest along the last axis."""
        x = self.at_most(x, required_bits(x.bound, x.frac_bits))  # differences fit, too
        rows = np.ascontiguousarray(x.payload.reshape(-1, x.shape[-1]))
        payload = self.backend.maximum(rows, x.bits).reshape(x.shape[:-1])
        return replace(x, payload=payload)

    # inverses ----------------------------------------------------------------------------------

    def reciprocal(self, x: Secret, low: float, high: float, frac_bits: int) -> Secret:
        """1 / x for x in [low, high]."""
        return self._inverse(False, x, low, high, frac_bits, 1.0)

    def reciprocal_root(
        self, x: Secret, low: float, high: float, frac_bits: int, gain: float = 1.0
    ) -> Secret:
        """gain / sqrt(x) for x in [low, high]; 1/2 < gain <= 1."""
        return self._inverse(True, x, low, high, frac_bits, gain)

    def low_bits(self, x: Secret, bits: int) -> Secret:
        """The integer behind x modulo 2^bits, in units of its own: the high bits fall away, for free."""
        return Secret(reduce(x.payload, min(bits, x.bits)), min(bits, x.bits), 0, 2.0**bits)

    # the only way out --------------------------------------------------------------------------

    def reveal(self, x: Secret, because: str) -> Integers | None:
        """Opens x to the client, and to nobody else; integers in units of 2^-x.frac_bits."""
        x = self.at_most(x, required_bits(x.bound, x.frac_bits))
        return self.backend.reveal(np.ascontiguousarray(x.payload), x.bits, because)

    # helpers -----------------------------------------------------------------------------------

    def _combine(self, x: Secret, y: Secret, bound: float | None, sign: int) -> Secret:
        frac_bits = max(x.frac_bits, y.frac_bits)
        bound = x.bound + y.bound if bound is None else bound
        x, y = self.refine(x, frac_bits), self.refine(y, frac_bits)
        needed = required_bits(bound, frac_bits)
        bits = max(needed, min(x.bits, y.bits))
        left, right = (z.payload for z in self.at_all([(x, bits), (y, bits)]))
        total = left + right if sign > 0 else left - right
        return Secret(reduce(total, bits), bits, frac_bits, bound)

    def _inverse(self, root: bool, x: Secret, low: float, high: float, frac_bits: int, gain: float) -> Secret:
        """By quadratic pieces; where 64 bits are too few for them, by Newton's iteration."""
        x = self.at_most(x, required_bits(x.bound, x.frac_bits))
        flat = np.ascontiguousarray(x.payload.reshape(-1))
        bound = 1 / math.sqrt(low) if root else 1 / low
        pieces = piecewise_spec(root, low, high, gain, x.bits, x.frac_bits, frac_bits)
        if pieces is not None:
            payload = self.backend.piecewise(flat, pieces).reshape(x.shape)
            return Secret(payload, pieces.output_bits, frac_bits, gain * bound)
        newton = inverse_spec(root, low, high, x.bits, x.frac_bits, frac_bits)
        payload = self.backend.inverse(flat, newton).reshape(x.shape)
        exact = Secret(payload, newton.output_bits, frac_bits, bound)
        return exact if gain == 1.0 else self.scale(exact, gain, frac_bits, frac_bits)
