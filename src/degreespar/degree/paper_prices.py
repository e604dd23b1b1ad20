"""The paper's accounting: seconds on WAN2 (100 Mbit/s, 10 ms), after its own tables.

*Degrees.* Its appendix prices every degree of exp and GeLU (table "Secure computational cost ... at
different degree levels"). Those seconds are those of one ViT-Base layer: 12 x 197 x 197 softmax entries
and 197 x 3072 GeLUs (methods.md, finding 3). n = 0, which the table lacks, is its comparison alone; a
removed entry costs nothing.

*Everything else* (linear layers, attention products, row maximum, norms) the paper does not list. It is
derived: of the seven uncompressed latencies of its end-to-end table (ViT-S, B, L at 197 tokens, BERT-Base
at 64, 128, 256, 512) the softmax at n = 6 and the GeLU at order 4, its baseline, are taken off, and the
rest is fitted per layer as

    rest = a * multiply-adds with weights + b * elements into and out of linear layers + c * heads * N^2

by least squares on relative errors. The three coefficients reproduce all seven latencies within 1 %
(a test), so the rest indeed scales with tokens and dimensions in this way.

*Selection* is the 1.73 s that the paper states for 197 tokens of width 384, scaled by tokens x width and
counted for each layer that drops tokens: the paper does not say whether it is for one layer or for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

from degreespar.degree.prices import Prices
from degreespar.numerics import OFF

TABLE_TOKENS, TABLE_HEADS, TABLE_FFN_WIDTH = 197, 12, 3072
EXP_TABLE_S: Mapping[int, float] = MappingProxyType(
    {OFF: 0.0, 0: 2.58, 1: 8.52, 2: 13.32, 3: 18.68, 4: 25.77, 5: 32.28, 6: 34.79}
)
GELU_TABLE_S: Mapping[int, float] = MappingProxyType({0: 0.0, 1: 2.05, 2: 7.60, 3: 15.15, 4: 16.98, 6: 31.01})
BASELINE_SQUARINGS, BASELINE_ORDER = 6, 4
SELECTION_S, SELECTION_TOKENS, SELECTION_WIDTH = 1.73, 197, 384


@dataclass(frozen=True)
class Latency:
    """An uncompressed model of the paper's end-to-end table, WAN2; its FFN is four times as wide."""

    layers: int
    width: int
    heads: int
    tokens: int
    seconds: float

    def nonlinear_s(self) -> float:
        """Exponentials and GeLUs of one layer at the baseline's degrees."""
        softmax = self.heads * self.tokens**2 * _exp_entry_s(BASELINE_SQUARINGS)
        return softmax + self.tokens * 4 * self.width * _gelu_entry_s(BASELINE_ORDER)

    def work(self) -> tuple[int, int, int]:
        """Of one layer: multiply-adds with weights, elements of linear layers, attention entries."""
        weights = 12 * self.width**2
        elements = (1 + 3) + (1 + 1) + (1 + 4) + (4 + 1)
        return (
            self.tokens * weights,
            self.tokens * elements * self.width,
            self.heads * self.tokens**2,
        )


LATENCIES = (
    Latency(12, 384, 6, 197, 538.52),
    Latency(12, 768, 12, 197, 1144.43),
    Latency(24, 1024, 16, 197, 3171.59),
    Latency(12, 768, 12, 64, 241.12),
    Latency(12, 768, 12, 128, 604.03),
    Latency(12, 768, 12, 256, 1729.24),
    Latency(12, 768, 12, 512, 5577.23),
)


def _exp_entry_s(squarings: int) -> float:
    return EXP_TABLE_S[squarings] / (TABLE_HEADS * TABLE_TOKENS**2)


def _gelu_entry_s(order: int) -> float:
    return GELU_TABLE_S[order] / (TABLE_TOKENS * TABLE_FFN_WIDTH)


def _fitted() -> tuple[float, float, float]:
    """The three coefficients of the docstring."""
    seconds = np.array([row.seconds / row.layers for row in LATENCIES])
    rest = seconds - np.array([row.nonlinear_s() for row in LATENCIES])
    work = np.array([row.work() for row in LATENCIES], dtype=np.float64)
    solution = np.linalg.lstsq(work / seconds[:, None], rest / seconds, rcond=None)[0]
    mac_s, element_s, entry_s = solution.tolist()
    return mac_s, element_s, entry_s


@cache
def paper_prices() -> Prices:
    """The paper's accounting, as far as it states it."""
    mac_s, element_s, entry_s = _fitted()
    return Prices(
        name="paper",
        softmax_s={state: _exp_entry_s(state) for state in EXP_TABLE_S},
        gelu_s={state: _gelu_entry_s(state) for state in GELU_TABLE_S},
        linear_mac_s=mac_s,
        linear_element_s=element_s,
        attention_entry_s=entry_s,
        selection_element_s=SELECTION_S / (SELECTION_TOKENS * SELECTION_WIDTH),
    )


@cache
def uniform_prices() -> Prices:
    """Every degree step of every entry costs the same; the rest is the paper's.

    A step is one place in the ordered states. Its price is such that the uncompressed ViT-Base layer
    costs what it costs at the paper's prices.
    """
    paper = paper_prices()
    softmax = {state: float(place) for place, state in enumerate(sorted(EXP_TABLE_S))}
    gelu = {state: float(place) for place, state in enumerate(sorted(GELU_TABLE_S))}
    entries = TABLE_HEADS * TABLE_TOKENS**2, TABLE_TOKENS * TABLE_FFN_WIDTH
    steps = entries[0] * softmax[BASELINE_SQUARINGS] + entries[1] * gelu[BASELINE_ORDER]
    step_s = (EXP_TABLE_S[BASELINE_SQUARINGS] + GELU_TABLE_S[BASELINE_ORDER]) / steps
    return Prices(
        name="uniform",
        softmax_s={state: place * step_s for state, place in softmax.items()},
        gelu_s={state: place * step_s for state, place in gelu.items()},
        linear_mac_s=paper.linear_mac_s,
        linear_element_s=paper.linear_element_s,
        attention_entry_s=paper.attention_entry_s,
        selection_element_s=paper.selection_element_s,
    )
