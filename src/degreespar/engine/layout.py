"""Moving secrets around by public shapes and indices: local and free on every engine."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from degreespar.engine.ring import reduce
from degreespar.engine.secret import Secret, SecretBits

Index = NDArray[np.int64]


def reshape(x: Secret, shape: tuple[int, ...]) -> Secret:
    """The same entries in another shape."""
    return replace(x, payload=x.payload.reshape(shape))


def swap(x: Secret, first: int, second: int) -> Secret:
    """Two axes exchanged."""
    return replace(x, payload=x.payload.swapaxes(first, second))


def part(x: Secret, *index: slice | int | None) -> Secret:
    """Basic public indexing of leading or trailing axes, as numpy's (`...` is implied in front)."""
    where = (..., *index)
    return replace(x, payload=x.payload[where])


def take(x: Secret, index: Index) -> Secret:
    """Entries of the last axis by public index."""
    return replace(x, payload=x.payload[..., index])


def take_rows(x: Secret, index: Index) -> Secret:
    """Rows (the last axis but one) by public index."""
    return replace(x, payload=x.payload[..., index, :])


def put_rows(x: Secret, index: Index, rows: Secret) -> Secret:
    """x with other rows at these places; both in the same ring and units."""
    if (x.bits, x.frac_bits) != (rows.bits, rows.frac_bits):
        raise ValueError("rows of another ring or units cannot be put in")
    payload = x.payload.copy()
    payload[..., index, :] = rows.payload
    return replace(x, payload=payload, bound=max(x.bound, rows.bound))


def repeat(x: Secret, times: int, axis: int) -> Secret:
    """The same entries several times along an axis, as a whole."""
    return replace(x, payload=np.concatenate([x.payload] * times, axis=axis))


def take_bits(x: SecretBits, index: Index) -> SecretBits:
    """Bits of the last axis by public index."""
    return SecretBits(x.payload[..., index])


def stack_bits(parts: Sequence[SecretBits]) -> SecretBits:
    """Bits of one shape on a new axis in front of the last one."""
    return SecretBits(np.stack([part.payload for part in parts], axis=-2))


def spread(pieces: Sequence[tuple[Secret, Index]], size: int) -> Secret:
    """The inverse of `take`: each piece's entries at its indices of a last axis of `size`, zeros elsewhere.

    All pieces have the same units; the ring is the narrowest among them.
    """
    first = pieces[0][0]
    bits = min(piece.bits for piece, _ in pieces)
    out = np.zeros((*first.shape[:-1], size), dtype=np.uint64)
    for piece, index in pieces:
        if piece.frac_bits != first.frac_bits:
            raise ValueError("pieces of different units cannot be put together")
        out[..., index] = reduce(piece.payload, bits)
    return Secret(out, bits, first.frac_bits, max(piece.bound for piece, _ in pieces))


def concatenate(parts: Sequence[Secret], axis: int) -> Secret:
    """Secrets of equal units one after the other; the ring is the narrowest among them."""
    bits = min(part.bits for part in parts)
    if len({part.frac_bits for part in parts}) != 1:
        raise ValueError("parts of different units cannot be put together")
    payload = np.concatenate([reduce(part.payload, bits) for part in parts], axis=axis)
    return Secret(payload, bits, parts[0].frac_bits, max(part.bound for part in parts))
