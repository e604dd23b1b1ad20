"""The degree policy: how every nonlinear function of a model is computed; public and frozen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from degreespar.degree.bounds import LayerBounds, ModelBounds, TextBounds, model_bounds_from_json
from degreespar.degree.errors import PolicyError, placed
from degreespar.degree.grid import IntGrid
from degreespar.degree.selection import Selection
from degreespar.degree.strict_json import take_list, take_object
from degreespar.numerics import EXPONENTIAL, GELU, OFF

SQUARINGS_STATES = frozenset({OFF, *EXPONENTIAL})
GELU_STATES = frozenset(GELU)
MAX_LAYERS = 64


@dataclass(frozen=True)
class LayerPolicy:
    """One layer: squarings per softmax entry (query x key), order per GeLU (token x FFN unit).

    A selection sits between the two: `squarings` are by position as tokens enter the layer,
    `gelu_orders` by position as they leave. Without one no token moves.
    """

    squarings: IntGrid
    gelu_orders: IntGrid
    bounds: LayerBounds
    selection: Selection | None = None

    def __post_init__(self) -> None:
        _check_states(self.squarings, SQUARINGS_STATES, "squarings")
        _check_states(self.gelu_orders, GELU_STATES, "gelu_orders")
        if self.squarings.cols != self.squarings.rows:
            raise PolicyError(
                f"squarings must be a square grid, not {self.squarings.rows} x {self.squarings.cols}"
            )
        _check_kept(self.squarings.rows, self.selection, self.gelu_orders.rows)
        rows_off = np.flatnonzero(np.all(self.squarings.values == OFF, axis=1))
        if rows_off.size:
            raise PolicyError(
                f"row {rows_off[0]} of squarings is off everywhere, but a softmax needs one entry"
            )

    @property
    def tokens(self) -> int:
        """How many tokens enter the layer."""
        return self.squarings.rows

    @property
    def kept_tokens(self) -> int:
        """How many tokens leave it."""
        return self.gelu_orders.rows

    @property
    def ffn_width(self) -> int:
        """How many units the feed-forward network has."""
        return self.gelu_orders.cols

    def to_json(self) -> dict[str, object]:
        """The layer as JSON."""
        return {
            "squarings": self.squarings.to_json(),
            "gelu_orders": self.gelu_orders.to_json(),
            "bounds": self.bounds.to_json(),
            "selection": None if self.selection is None else self.selection.to_json(),
        }

    @classmethod
    def from_json(cls, value: object, where: str) -> LayerPolicy:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        keys = ("squarings", "gelu_orders", "bounds", "selection")
        parts = take_object(value, keys, where, PolicyError)
        squarings = IntGrid.from_json(parts["squarings"], f"{where}.squarings")
        gelu_orders = IntGrid.from_json(parts["gelu_orders"], f"{where}.gelu_orders")
        bounds = LayerBounds.from_json(parts["bounds"], f"{where}.bounds")
        chosen = parts["selection"]
        selection = None if chosen is None else Selection.from_json(chosen, f"{where}.selection")
        with placed(where):
            return cls(squarings, gelu_orders, bounds, selection)


@dataclass(frozen=True)
class DegreePolicy:
    """All layers, and the bounds of what follows them."""

    layers: tuple[LayerPolicy, ...]
    bounds: ModelBounds | TextBounds

    def __post_init__(self) -> None:
        if not 1 <= len(self.layers) <= MAX_LAYERS:
            raise PolicyError(f"a policy must have 1..{MAX_LAYERS} layers, not {len(self.layers)}")
        for index, (layer, following) in enumerate(pairwise(self.layers)):
            if layer.kept_tokens != following.tokens:
                raise PolicyError(
                    f"{layer.kept_tokens} tokens leave layer {index}, but {following.tokens} enter the next"
                )
        if self.layers[-1].selection is not None:
            # Only [CLS] is computed there after attention, and [CLS] always stays.
            raise PolicyError("the last layer must have no selection: only [CLS] goes on from there")

    @property
    def selects(self) -> bool:
        """Whether any layer moves or drops tokens."""
        return any(layer.selection is not None for layer in self.layers)

    def to_json(self) -> dict[str, object]:
        """The policy as JSON; `from_json` takes it back unchanged."""
        return {
            "layers": [layer.to_json() for layer in self.layers],
            "bounds": self.bounds.to_json(),
        }

    @classmethod
    def from_json(cls, value: object) -> DegreePolicy:
        """Reads what `to_json` wrote; anything else is a PolicyError that names the place."""
        parts = take_object(value, ("layers", "bounds"), "policy", PolicyError)
        layers = take_list(parts["layers"], "policy.layers", PolicyError)
        if len(layers) > MAX_LAYERS:
            raise PolicyError(f"a policy must have 1..{MAX_LAYERS} layers, not {len(layers)}")
        return cls(
            layers=tuple(
                LayerPolicy.from_json(layer, f"policy.layers[{index}]") for index, layer in enumerate(layers)
            ),
            bounds=model_bounds_from_json(parts["bounds"], "policy.bounds"),
        )


def _check_states(grid: IntGrid, states: frozenset[int], where: str) -> None:
    for state, indices in grid.groups().items():
        if state not in states:
            row, col = divmod(int(indices[0]), grid.cols)
            raise PolicyError(
                f"{where} holds {state} at row {row}, column {col}; allowed are {sorted(states)}"
            )


def _check_kept(tokens: int, selection: Selection | None, rows: int) -> None:
    if selection is not None and selection.kept_tokens > tokens:
        raise PolicyError(
            f"a selection of {selection.kept_tokens} tokens is more than the {tokens} there are"
        )
    kept = tokens if selection is None else selection.kept_tokens
    if rows != kept:
        raise PolicyError(f"gelu_orders must have one row for each of {kept} tokens kept, not {rows}")
