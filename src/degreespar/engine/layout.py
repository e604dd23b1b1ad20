"""Moving secrets around by public shapes and indices: local and free on every engine."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from degreespar.engine.ring import reduce
from degreespar.engine.secret import Secret

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
