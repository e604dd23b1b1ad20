"""Public wiring, checked by moving plain items."""

import itertools

import numpy as np
import pytest

from degreespar.program.selection.networks import Control, bitonic_sorter, compactor, layered, reaching


def compacted(marks: tuple[int, ...], controls: list[Control]) -> list[int]:
    before = np.concatenate([[0], np.cumsum(marks)])
    items = list(range(len(marks)))
    for c in controls:
        if (int(before[c.middle]) + c.constant) >> c.bit & 1:
            items[c.first], items[c.second] = items[c.second], items[c.first]
    return items


@pytest.mark.parametrize("size", range(1, 13))
def test_every_set_of_marked_items_moves_to_the_front_in_order(size: int) -> None:
    controls = compactor(size)
    for marks in itertools.product((0, 1), repeat=size):
        marked = [i for i, mark in enumerate(marks) if mark]
        assert compacted(marks, controls)[: len(marked)] == marked
        assert compacted(marks, reaching(controls, len(marked)))[: len(marked)] == marked


@pytest.mark.parametrize("size", [*range(13, 41), 64, 127, 196, 300, 511, 512])
def test_compaction_of_larger_sizes(size: int) -> None:
    rng, controls = np.random.default_rng(size), compactor(size)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        marks = tuple(int(mark) for mark in rng.random(size) < share)
        marked = [i for i, mark in enumerate(marks) if mark]
        assert compacted(marks, controls)[: len(marked)] == marked


@pytest.mark.parametrize("size", range(1, 17))
def test_the_sorter_sorts_all_zeros_and_ones(size: int) -> None:
    # The 0-1 principle: a network that sorts these sorts everything.
    items = np.array(list(itertools.product((0, 1), repeat=size)), dtype=np.int8)
    for low, high in bitonic_sorter(size):
        smaller, larger = items[:, [low, high]].min(axis=1), items[:, [low, high]].max(axis=1)
        items[:, low], items[:, high] = smaller, larger
    assert (np.diff(items, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("size", "swaps", "levels", "comparisons", "layers"),
    [(128, 448, 7, 1792, 28), (197, 719, 8, 3060, 36), (256, 1024, 8, 4608, 36), (512, 2304, 9, 11520, 45)],
)
def test_sizes_are_those_of_the_literature(
    size: int, swaps: int, levels: int, comparisons: int, layers: int
) -> None:
    controls = compactor(size)
    assert len(controls) == swaps
    assert len(layered([(c.first, c.second) for c in controls])) == levels
    assert len(bitonic_sorter(size)) == comparisons
    assert len(layered(bitonic_sorter(size))) == layers


def test_no_position_takes_part_twice_in_a_layer() -> None:
    for layer in layered(bitonic_sorter(37)):
        ends = np.concatenate([layer.first, layer.second])
        assert len(set(ends.tolist())) == ends.size
