"""Grids of states: values that cannot change, and a JSON form that takes no nonsense."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from degreespar.degree import IntGrid, PolicyError
from degreespar.degree.grid import MAX_ENTRIES


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    rows, cols = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    states = st.sampled_from([-128, -1, 0, 1, 6, 127])
    flat = draw(st.lists(states, min_size=rows * cols, max_size=rows * cols))
    return np.array(flat, dtype=np.int8).reshape(rows, cols)


@given(arrays())
def test_json_gives_the_same_grid(array: np.ndarray) -> None:
    grid = IntGrid(array)
    again = IntGrid.from_json(json.loads(json.dumps(grid.to_json())), "grid")
    assert again == grid
    assert hash(again) == hash(grid)
    assert np.array_equal(again.values, array)


@given(arrays())
def test_groups_are_a_partition(array: np.ndarray) -> None:
    groups = IntGrid(array).groups()
    assert list(groups) == sorted(groups)
    assert sorted(np.concatenate(list(groups.values())).tolist()) == list(range(array.size))
    for state, indices in groups.items():
        assert np.all(array.ravel()[indices] == state)


def test_runs_are_as_few_as_can_be() -> None:
    grid = IntGrid(np.array([[1, 1, 2], [2, 2, 1]], dtype=np.int8))
    assert grid.to_json() == {"rows": 2, "cols": 3, "runs": [[1, 2], [2, 3], [1, 1]]}


def test_uniform() -> None:
    grid = IntGrid.uniform(3, 4, -1)
    assert (grid.rows, grid.cols) == (3, 4)
    assert grid.values.dtype == np.int8
    assert {state: indices.tolist() for state, indices in grid.groups().items()} == {-1: list(range(12))}


def test_equality_looks_at_shape_and_content() -> None:
    assert IntGrid.uniform(2, 3, 1) == IntGrid(np.ones((2, 3), dtype=np.int64))
    assert IntGrid.uniform(2, 3, 1) != IntGrid.uniform(3, 2, 1)
    assert IntGrid.uniform(2, 3, 1) != IntGrid.uniform(2, 3, 2)
    assert IntGrid.uniform(1, 1, 1) != 1


def test_cannot_be_changed_from_inside_or_outside() -> None:
    array = np.zeros((2, 2), dtype=np.int8)
    grid = IntGrid(array)
    array[0, 0] = 5
    assert grid.values[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        grid.values[0, 0] = 1
    with pytest.raises(AttributeError):
        grid.values = array  # type: ignore[misc]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(4, dtype=np.int8),
        np.zeros((2, 2, 2), dtype=np.int8),
        np.zeros((0, 2), dtype=np.int8),
        np.zeros((2, 2)),
        np.full((2, 2), 128),
        np.full((2, 2), -129),
        np.full((2, 2), 255, dtype=np.uint8),
    ],
)
def test_refuses_other_arrays(array: np.ndarray) -> None:
    with pytest.raises(PolicyError):
        IntGrid(array)


def test_uniform_refuses_too_much() -> None:
    with pytest.raises(PolicyError, match="entries"):
        IntGrid.uniform(MAX_ENTRIES, 2, 0)
    with pytest.raises(PolicyError):
        IntGrid.uniform(2, 2, 200)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "here must be an object"),
        ({"rows": 1, "cols": 2}, "'runs'"),
        ({"rows": 1, "cols": 2, "runs": [[0, 2]], "more": 1}, "'more'"),
        ({"rows": "1", "cols": 2, "runs": [[0, 2]]}, "here.rows"),
        ({"rows": True, "cols": 2, "runs": [[0, 2]]}, "here.rows"),
        ({"rows": 1.0, "cols": 2, "runs": [[0, 2]]}, "here.rows"),
        ({"rows": 1, "cols": -2, "runs": [[0, 2]]}, "here"),
        ({"rows": 10**9, "cols": 10**9, "runs": [[0, 10**18]]}, "here"),
        ({"rows": 1, "cols": 2, "runs": 3}, "here.runs"),
        ({"rows": 1, "cols": 2, "runs": []}, "without a state"),
        ({"rows": 1, "cols": 2, "runs": [[0, 1]]}, "without a state"),
        ({"rows": 1, "cols": 2, "runs": [[0, 3]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [[0, 10**12]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [[0, 0], [1, 2]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [[0, -1], [1, 3]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [[0, 2], [1, 1]]}, r"here.runs\[1\]"),
        ({"rows": 1, "cols": 2, "runs": [[0, 1], [0, 1]]}, r"here.runs\[1\] repeats"),
        ({"rows": 1, "cols": 2, "runs": [[0]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [[0, 1, 1]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [["0", 2]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [[128, 2]]}, r"here.runs\[0\]"),
        ({"rows": 1, "cols": 2, "runs": [None]}, r"here.runs\[0\]"),
    ],
)
def test_refuses_other_json_and_names_the_place(value: object, place: str) -> None:
    with pytest.raises(PolicyError, match=place):
        IntGrid.from_json(value, "here")
