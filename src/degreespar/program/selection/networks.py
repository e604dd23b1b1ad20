"""Public wiring: which positions meet in which layer, for sorting and for compaction of any length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from degreespar.engine.layout import Index

Pair = tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """Pairs of positions that meet at once: the gates' numbers, their first and their second positions."""

    gates: Index
    first: Index
    second: Index


@dataclass(frozen=True)
class Control:
    """When a compaction exchanges two positions: bit `bit` of constant + marked before `middle`."""

    first: int
    second: int
    middle: int
    constant: int
    bit: int


def layered(pairs: Sequence[Pair]) -> list[Layer]:
    """Each pair as early as the pairs before it at its positions allow."""
    depth: dict[int, int] = {}
    gates: list[list[int]] = []
    for number, (first, second) in enumerate(pairs):
        level = max(depth.get(first, 0), depth.get(second, 0))
        depth[first] = depth[second] = level + 1
        if level == len(gates):
            gates.append([])
        gates[level].append(number)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    indices = [np.array(level, dtype=np.int64) for level in gates]
    return [Layer(index, ends[index, 0], ends[index, 1]) for index in indices]


def bitonic_sorter(size: int) -> list[Pair]:
    """The bitonic sorting network for any size: of each pair the smaller goes to the first position.

    Batcher's network where the size is a power of two; else Lang's, whose halves are sorted in opposite
    directions and merged over the largest power of two below the size.
    """
    pairs: list[Pair] = []
    _sort(pairs, 0, size, up=True)
    return pairs


def _sort(pairs: list[Pair], start: int, size: int, up: bool) -> None:
    if size > 1:
        half = size // 2
        _sort(pairs, start, half, not up)
        _sort(pairs, start + half, size - half, up)
        _merge(pairs, start, size, up)


def _merge(pairs: list[Pair], start: int, size: int, up: bool) -> None:
    if size > 1:
        stride = 1 << ((size - 1).bit_length() - 1)
        lows = range(start, start + size - stride)
        pairs += [(low, low + stride) if up else (low + stride, low) for low in lows]
        _merge(pairs, start, stride, up)
        _merge(pairs, start + stride, size - stride, up)


def compactor(size: int) -> list[Control]:
    """Moves marked items to the front in their order (Sasy, Johnson, Goldberg, "ORCompact", CCS 2022).

    The size is cut into powers of two, smallest first. A power-of-two block at `start` is compacted
    cyclically, so that its marked items begin where those before it will end: the node of width 2h with
    middle at m exchanges its i-th pair iff bit h of Q is not [i >= Q mod h], where Q counts the marked
    before m from the block's offset; that is bit h of Q - 1 - i. Then the block meets what lies before
    it: i and i + block exchange iff i is not among the marked before `start`.

    All of them follow from counts of marked items before any item moves.
    """
    controls: list[Control] = []
    start = 0
    for power in range(size.bit_length()):
        block = 1 << power
        if size & block:
            offset = block - start
            for half in (1 << level for level in range(power)):
                controls += _cyclic_layer(start, block, half, offset)
            controls += [Control(i, block + i, start, -1 - i, power) for i in range(start)]
            start += block
    return controls


def _cyclic_layer(start: int, block: int, half: int, offset: int) -> list[Control]:
    return [
        Control(low + i, low + half + i, low + half, offset - 1 - i, half.bit_length() - 1)
        for low in range(start, start + block, 2 * half)
        for i in range(half)
    ]


def reaching(controls: Sequence[Control], outputs: int) -> list[Control]:
    """Those that matter to the first `outputs` positions."""
    needed, kept = set(range(outputs)), []
    for control in reversed(controls):
        if control.first in needed or control.second in needed:
            needed |= {control.first, control.second}
            kept.append(control)
    return kept[::-1]
