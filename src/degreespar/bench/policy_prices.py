"""From a price table to the prices that training weighs policies with.

A degree's price is what one entry adds to a window of many (both phases, rounds left out), seen by the
estimator on shapes alone. The rest of a layer (linear parts with norms; attention without its cut-offs
and squarings; selection; rounds) is fitted to the estimates of made layers of several shapes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from degreespar._native import Forecast, Plan
from degreespar.bench.fit import nonnegative_prices
from degreespar.bench.geometries import vit_geometry
from degreespar.bench.made_model import made_policy, made_public
from degreespar.bench.networks import NETWORKS
from degreespar.cost.phase import Estimate, delay_seconds, estimate_phase
from degreespar.cost.run import WindowEstimate, estimate_run
from degreespar.degree import (
    GELU_STATES,
    SQUARINGS_STATES,
    DegreePolicy,
    IntGrid,
    LayerPolicy,
    Selection,
)
from degreespar.degree.price_table import Line, PriceTable
from degreespar.degree.prices import Prices
from degreespar.engine.ops import Ops
from degreespar.engine.ring import required_bits
from degreespar.engine.secret import Secret
from degreespar.engine.trace import PART_SEPARATOR, TraceBackend
from degreespar.numerics import OFF
from degreespar.party.demand import Demand
from degreespar.program.gelu import gelu
from degreespar.program.softmax import exponential
from degreespar.program.units import ACTIVATION_FRAC

ENTRIES = 1 << 19
SCORES_BOUND, HIDDEN_BOUND = 32.0, 16.0
SHAPES = (("vit-ti", 65), ("vit-ti", 197), ("vit-s", 65), ("vit-s", 197), ("vit-s", 257), ("vit-b", 197))
SQUARINGS, ORDER = 2, 2
KEPT_SHARE = 2 / 3
FLOOR_S = 1e-3


def with_policy_prices(table: PriceTable) -> PriceTable:
    """For every network by name, and for the line that the table was measured over."""
    lines: dict[str, Line | None] = {name: network.line for name, network in NETWORKS.items()}
    lines[table.line.name] = table.line
    return replace(table, policy={name: policy_prices(table, name, line) for name, line in lines.items()})


def policy_prices(table: PriceTable, name: str, line: Line | None) -> Prices:
    """Over one line."""
    softmax = {n: _exp_entry_s(table, line, n) for n in SQUARINGS_STATES}
    orders = {order: _gelu_entry_s(table, line, order) for order in GELU_STATES}
    layers = [_made_layer(table, line, *shape) for shape in SHAPES]
    linear = _fitted([layer.linear_work for layer in layers], [layer.linear_s for layer in layers])
    rest = [layer.attention_s - layer.entries * softmax[SQUARINGS] for layer in layers]
    attention = _fitted([layer.attention_work for layer in layers], rest)
    return Prices(
        f"measured {name}",
        _rising(softmax),
        _rising(orders),
        *linear,
        *attention,
        selection_element_s=_selection_element_s(table, line),
        layer_s_fixed=float(np.mean([layer.rounds_s for layer in layers])),
    )


@dataclass(frozen=True)
class _Layer:
    """Estimates of a made layer, rounds apart, and the amounts that they are spread over."""

    linear_s: float
    attention_s: float
    rounds_s: float
    linear_work: tuple[float, float]
    attention_work: tuple[float, float]

    @property
    def entries(self) -> float:
        """Of the softmax."""
        return self.attention_work[0]


def _made_layer(table: PriceTable, line: Line | None, geometry_name: str, tokens: int) -> _Layer:
    geometry = vit_geometry(geometry_name, layers=2, tokens=tokens)
    kinds = _kinds(table, line, geometry_name, made_policy(geometry, SQUARINGS, ORDER))
    width, heads = geometry.width, geometry.heads
    rounds = sum(_rounds_s(table, line, part.total) for part in kinds.values())

    def seconds(*names: str) -> float:
        parts = (kinds[name].total for name in names)
        return sum(part.seconds - _rounds_s(table, line, part) for part in parts)

    return _Layer(
        seconds("linear", "norm"),
        seconds("attention", "softmax"),
        rounds,
        (tokens * 12.0 * width * width, tokens * 16.0 * width),
        (float(heads * tokens * tokens), 4.0 * heads * tokens * geometry.head_width),
    )


def _kinds(
    table: PriceTable, line: Line | None, geometry_name: str, policy: DegreePolicy
) -> dict[str, WindowEstimate]:
    """Of the first layer (of the last one only [CLS] is computed)."""
    geometry = vit_geometry(geometry_name, len(policy.layers), policy.layers[0].tokens)
    demand = Demand.of(made_public("made", geometry, policy), by_kind=True)
    begin = f"layer 1{PART_SEPARATOR}"
    run = estimate_run(demand, table, line)
    return replace(run, windows=tuple(w for w in run.windows if w.name.startswith(begin))).kinds


def _rounds_s(table: PriceTable, line: Line | None, part: Estimate) -> float:
    return part.flips * table.flip_s + delay_seconds(line, part.flips)


def _fitted(work: list[tuple[float, float]], seconds: list[float]) -> tuple[float, float]:
    first, second = nonnegative_prices(np.array(work), np.maximum(seconds, 0.0), FLOOR_S).tolist()
    return first, second


def _selection_element_s(table: PriceTable, line: Line | None) -> float:
    """Of one element of the tokens, where a ViT-S keeps two thirds of them."""
    geometry = vit_geometry("vit-s", layers=2)
    policy, tokens = made_policy(geometry, SQUARINGS, ORDER), geometry.tokens
    kept = round(KEPT_SHARE * tokens)
    first, last = policy.layers
    chosen = LayerPolicy(
        first.squarings,
        IntGrid.uniform(kept, first.ffn_width, ORDER),
        first.bounds,
        Selection((kept - 1,), alpha=0.5),
    )
    last = LayerPolicy(
        IntGrid.uniform(kept, kept, SQUARINGS), IntGrid.uniform(kept, last.ffn_width, ORDER), last.bounds
    )
    kinds = _kinds(table, line, "vit-s", DegreePolicy((chosen, last), policy.bounds))
    return kinds["selection"].total.seconds / (tokens * geometry.width)


def _exp_entry_s(table: PriceTable, line: Line | None, squarings: int) -> float:
    def run(ops: Ops, entries: int) -> None:
        exponential(ops, _secret(entries, 2 * SCORES_BOUND), squarings)

    return 0.0 if squarings == OFF else _entry_s(table, line, run)


def _gelu_entry_s(table: PriceTable, line: Line | None, order: int) -> float:
    def run(ops: Ops, entries: int) -> None:
        gelu(ops, _secret(entries, HIDDEN_BOUND), order, HIDDEN_BOUND)

    return 0.0 if order == 0 else _entry_s(table, line, run)


def _secret(entries: int, bound: float) -> Secret:
    bits = required_bits(bound, ACTIVATION_FRAC)
    return Secret(np.zeros(entries, dtype=np.uint64), bits, ACTIVATION_FRAC, bound)


def _entry_s(table: PriceTable, line: Line | None, run: Callable[[Ops, int], None]) -> float:
    """What one entry more costs: rounds and the filling up of batches fall out."""
    seconds = []
    for entries in (ENTRIES, 2 * ENTRIES):
        trace = TraceBackend()
        run(Ops(trace), entries)
        ((_, plan),) = trace.windows
        seconds.append(_both_phases(table, line, plan).seconds)
    return max(0.0, seconds[1] - seconds[0]) / ENTRIES


def _both_phases(table: PriceTable, line: Line | None, plan: Plan) -> Estimate:
    forecast = Forecast()
    made = estimate_phase(forecast.prepare(plan), table, line)
    return made + estimate_phase(forecast.answer(plan), table, line)


def _rising(ladder: Mapping[int, float]) -> dict[int, float]:
    """A state is never cheaper than the one below it: where it would be, both do the same for less."""
    states = sorted(ladder)
    highest = np.maximum.accumulate([ladder[state] for state in states]).tolist()
    return dict(zip(states, highest, strict=True))
