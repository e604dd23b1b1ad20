"""What a layer keeps of its tokens: public sizes of rank ranges; which tokens they are stays secret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from degreespar.degree.errors import PolicyError, placed
from degreespar.degree.strict_json import take_float, take_int, take_list, take_object

Method = Literal["bitonic", "rank"]
"""The protocols that select: the paper's double sort, and counting with stable compaction."""
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Selection:
    """Rank ranges of the kept tokens, most significant first, and the mix of the significance score.

    [CLS] stays at position 0 and in no range. The score of every other token is
    `alpha` * V / mean(V) + (1 - `alpha`) * A / mean(A): V its variance at the layer's norm, A what
    [CLS] pays of attention to it. Among equal scores the lower position is more significant. Inside
    a range tokens keep the order they had; those beyond the ranges are dropped.
    """

    ranges: tuple[int, ...]
    alpha: float
    method: Method | None = None
    """The protocol; None: the cheaper one. The result is the same."""

    def __post_init__(self) -> None:
        sizes = self.ranges
        if not (isinstance(sizes, tuple) and sizes and all(type(size) is int and size > 0 for size in sizes)):
            raise PolicyError(f"ranges must be sizes of at least 1, and one of them, not {sizes!r}")
        alpha = self.alpha
        if type(alpha) is not float or not (math.isfinite(alpha) and 0.0 <= alpha <= 1.0):
            raise PolicyError(f"alpha must be a number in 0.0..1.0, not {alpha!r}")
        if self.method is not None and self.method not in METHODS:
            raise PolicyError(f"method must be one of {', '.join(METHODS)} or null, not {self.method!r:.80}")

    @property
    def kept_tokens(self) -> int:
        """How many tokens leave, [CLS] with them."""
        return sum(self.ranges) + 1

    def to_json(self) -> dict[str, object]:
        """The selection as JSON."""
        return {"ranges": list(self.ranges), "alpha": self.alpha, "method": self.method}

    @classmethod
    def from_json(cls, value: object, where: str) -> Selection:
        """Reads what `to_json` wrote; `where` names the place in errors."""
        parts = take_object(value, ("ranges", "alpha", "method"), where, PolicyError)
        sizes = take_list(parts["ranges"], f"{where}.ranges", PolicyError)
        ranges = tuple(take_int(size, f"{where}.ranges", PolicyError) for size in sizes)
        alpha = take_float(parts["alpha"], f"{where}.alpha", PolicyError)
        method: Any = parts["method"]  # checked by the constructor
        with placed(where):
            return cls(ranges, alpha, method)
