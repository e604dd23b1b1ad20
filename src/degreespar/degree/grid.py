"""A grid of small integers: one state for each entry of a nonlinear layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from degreespar.degree.errors import PolicyError
from degreespar.degree.strict_json import take_int, take_list, take_object

# 2048 x 2048 tokens: small enough that a hostile file cannot ask for much memory.
MAX_ENTRIES = 1 << 22
SMALLEST, LARGEST = -128, 127


@dataclass(frozen=True, eq=False)
class IntGrid:
    """A read-only 2-D array of int8; equal and hashed by content."""

    values: NDArray[np.int8]

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.ndim != 2 or not np.issubdtype(values.dtype, np.integer):
            raise PolicyError("a grid must be a two-dimensional array of integers")
        _check_size(values.shape[0], values.shape[1], "the grid")
        if values.min() < SMALLEST or values.max() > LARGEST:
            raise PolicyError(f"a grid's entries must lie in {SMALLEST}..{LARGEST}")
        # An own copy: a frozen value must not change when the caller's array does.
        own = np.array(values, dtype=np.int8, order="C")
        own.setflags(write=False)
        object.__setattr__(self, "values", own)

    @classmethod
    def uniform(cls, rows: int, cols: int, value: int) -> IntGrid:
        """A grid with the same state everywhere."""
        _check_size(rows, cols, "the grid")
        return cls(np.full((rows, cols), value))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])

    @property
    def cols(self) -> int:
        """How many columns there are."""
        return int(self.values.shape[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntGrid) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.values.shape, self.values.tobytes()))

    def groups(self) -> dict[int, NDArray[np.int64]]:
        """For each state that occurs, ascending: the flat (row-major) indices of its entries."""
        flat = self.values.ravel()
        return {int(state): np.flatnonzero(flat == state) for state in np.unique(flat)}

    def to_json(self) -> dict[str, object]:
        """The grid as JSON: its shape and the runs of equal entries in row-major order."""
        flat = self.values.ravel()
        starts = np.concatenate([[0], np.flatnonzero(flat[1:] != flat[:-1]) + 1])
        counts = np.diff(starts, append=flat.size)
        runs = np.stack([flat[starts].astype(np.int64), counts], axis=1).tolist()
        return {"rows": self.rows, "cols": self.cols, "runs": runs}

    @classmethod
    def from_json(cls, value: object, where: str) -> IntGrid:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        parts = take_object(value, ("rows", "cols", "runs"), where, PolicyError)
        rows = take_int(parts["rows"], f"{where}.rows", PolicyError)
        cols = take_int(parts["cols"], f"{where}.cols", PolicyError)
        _check_size(rows, cols, where)
        runs = take_list(parts["runs"], f"{where}.runs", PolicyError)
        states, counts = _read_runs(runs, rows * cols, f"{where}.runs")
        return cls(np.repeat(np.array(states, dtype=np.int8), counts).reshape(rows, cols))


def _read_runs(runs: list[object], size: int, where: str) -> tuple[list[int], list[int]]:
    """States and counts, their sum checked on the way: no run may ask for more than the grid."""
    states: list[int] = []
    counts: list[int] = []
    left = size
    try:
        for run in runs:
            state, count = _read_run(run, left)
            if states and states[-1] == state:
                raise PolicyError("repeats the state of the run before it")
            states.append(state)
            counts.append(count)
            left -= count
    except PolicyError as error:
        # Naming the place here and not in the loop: a learned grid has a million runs.
        raise PolicyError(f"{where}[{len(states)}] {error}") from error
    if left:
        raise PolicyError(f"{where} leave {left} of {size} entries without a state")
    return states, counts


def _read_run(run: object, left: int) -> tuple[int, int]:
    if type(run) is not list or len(run) != 2 or type(run[0]) is not int or type(run[1]) is not int:
        raise PolicyError("must be a pair of integers, a state and a count")
    state, count = run
    if not SMALLEST <= state <= LARGEST:
        raise PolicyError(f"holds the state {state}, which is not in {SMALLEST}..{LARGEST}")
    if not 1 <= count <= left:
        raise PolicyError(f"counts {count} entries where {left} are left")
    return state, count


def _check_size(rows: int, cols: int, where: str) -> None:
    if rows < 1 or cols < 1 or rows * cols > MAX_ENTRIES:
        raise PolicyError(f"{where} must have 1..{MAX_ENTRIES} entries, not {rows} rows of {cols} columns")
