"""What a degree policy costs, in predicted seconds: three sets of prices behind one form.

Training weighs every degree step by them and reports compress by them. The forms of cost are fixed: so
much for an entry of a softmax or a GeLU at its degree, for a multiply-add or an element of a linear
layer, for an entry of attention, for a routed element. `degreespar estimate` predicts a run of an
artifact more finely, from the declared messages and correlations of its windows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from degreespar.degree.errors import PriceError
from degreespar.degree.policy import GELU_STATES, SQUARINGS_STATES, DegreePolicy, LayerPolicy


class Geometry(Protocol):
    """What the price of a layer depends on beside its policy; a `VitGeometry` is one."""

    @property
    def width(self) -> int:
        """Features of a token."""

    @property
    def heads(self) -> int:
        """Heads of the attention."""


@dataclass(frozen=True)
class Prices:
    """Seconds for each unit of work; the degree states map to seconds of one entry."""

    name: str
    softmax_s: Mapping[int, float]
    gelu_s: Mapping[int, float]
    linear_mac_s: float
    """Of one multiply-add with a weight of the server's."""
    linear_element_s: float
    """Of one element that enters or leaves a linear layer; layer norms are in it."""
    attention_entry_s: float
    """Of one entry (head, query, key) whatever its degree: the two products, the row maximum, the sum."""
    attention_element_s: float = 0.0
    """Of one element (head, token, feature) of a query, key, value or context."""
    selection_element_s: float = 0.0
    """Of one element of a token that is scored and routed."""
    layer_s_fixed: float = 0.0
    """Of a layer of any size: its rounds."""

    def __post_init__(self) -> None:
        for field, states in (("softmax_s", SQUARINGS_STATES), ("gelu_s", GELU_STATES)):
            prices = getattr(self, field)
            if set(prices) != states:
                raise PriceError(f"{field} must price the states {sorted(states)}, not {sorted(prices)}")
            object.__setattr__(self, field, MappingProxyType(dict(prices)))
        for value in self._all_numbers():
            if not (math.isfinite(value) and value >= 0):
                raise PriceError(f"a price must be a number of seconds from 0 up, not {value!r}")

    def _all_numbers(self) -> list[float]:
        linear = [self.linear_mac_s, self.linear_element_s, self.attention_entry_s]
        rest = [self.attention_element_s, self.selection_element_s, self.layer_s_fixed]
        return [*self.softmax_s.values(), *self.gelu_s.values(), *linear, *rest]

    def softmax_step_s(self, squarings: int) -> float:
        """One softmax entry at this state (cut-off and squarings); OFF costs nothing."""
        return self.softmax_s[squarings]

    def gelu_step_s(self, order: int) -> float:
        """One GeLU entry at this order; 0, the removed unit, costs nothing."""
        return self.gelu_s[order]

    def linear_s(self, rows: int, inner: int, cols: int) -> float:
        """A product of secret rows with the server's matrix (inner x cols)."""
        return rows * (inner * cols * self.linear_mac_s + (inner + cols) * self.linear_element_s)

    def attention_s(self, heads: int, queries: int, keys: int, head_width: int) -> float:
        """All of an attention but its cut-offs and squarings, where no entry is off."""
        elements = 2 * heads * (queries + keys) * head_width
        return heads * queries * keys * self.attention_entry_s + elements * self.attention_element_s

    def softmax_policy_s(self, layer: LayerPolicy, heads: int) -> float:
        """Cut-offs and squarings of a layer."""
        groups = layer.squarings.groups().items()
        return heads * sum(len(index) * self.softmax_s[state] for state, index in groups)

    def gelu_policy_s(self, layer: LayerPolicy) -> float:
        """The GeLUs of a layer."""
        groups = layer.gelu_orders.groups().items()
        return sum(len(index) * self.gelu_s[state] for state, index in groups)

    def layer_parts_s(self, layer: LayerPolicy, geometry: Geometry) -> dict[str, float]:
        """By kind of work: `linear`, `attention`, `softmax`, `gelu`, `selection`, `rounds`."""
        tokens, width, heads = layer.tokens, geometry.width, geometry.heads
        kept, ffn_width = layer.gelu_orders.rows, layer.ffn_width
        before = self.linear_s(tokens, width, 3 * width) + self.linear_s(tokens, width, width)
        after = self.linear_s(kept, width, ffn_width) + self.linear_s(kept, ffn_width, width)
        return {
            "linear": before + after,
            "attention": self.attention_s(heads, tokens, tokens, width // heads),
            "softmax": self.softmax_policy_s(layer, heads),
            "gelu": self.gelu_policy_s(layer),
            "selection": tokens * width * self.selection_element_s if kept < tokens else 0.0,
            "rounds": self.layer_s_fixed,
        }

    def layer_s(self, layer: LayerPolicy, geometry: Geometry) -> float:
        """One encoder layer under its policy."""
        return sum(self.layer_parts_s(layer, geometry).values())

    def model_s(self, policy: DegreePolicy, geometry: Geometry) -> float:
        """All layers; embedding and head are small beside them and not counted."""
        return sum(self.layer_s(layer, geometry) for layer in policy.layers)
