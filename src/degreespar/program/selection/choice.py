"""Which protocol selects: the cheaper one of this shape, by declared bytes and flips on a reference network.

Both parties compute it from public facts, so they agree; a policy can name the protocol instead.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from degreespar._native import Plan
from degreespar.degree import Method
from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.engine.trace import TraceBackend
from degreespar.program.selection.ranking import select_by_rank
from degreespar.program.selection.sorting import pi_prune

Route = Callable[[Ops, Secret, Secret, tuple[int, ...]], Secret]
ROUTES: Mapping[Method, Route] = MappingProxyType({"bitonic": pi_prune, "rank": select_by_rank})

BYTES_PER_S, ONE_WAY_S = 12.5e6, 0.005
"""Of the reference network (bench.networks: wan2): the choice belongs to an artifact, not to a line."""

Facts = tuple[int, int, float]
"""Ring bits, fraction bits, bound."""


def cheaper(score: Secret, x: Secret, ranges: tuple[int, ...]) -> Method:
    """The protocol that takes less time on the reference network."""
    rows, width = x.shape[-2:]
    facts = [(value.bits, value.frac_bits, value.bound) for value in (score, x)]
    return _cheaper(rows, width, facts[0], facts[1], ranges)


@lru_cache(maxsize=256)
def _cheaper(rows: int, width: int, score: Facts, x: Facts, ranges: tuple[int, ...]) -> Method:
    shapes = Secret(np.zeros(rows, np.uint64), *score), Secret(np.zeros((rows, width), np.uint64), *x)
    plans = {method: declared(method, *shapes, ranges) for method in ROUTES}
    return min(plans, key=lambda method: seconds(plans[method]))


def declared(method: Method, score: Secret, x: Secret, ranges: tuple[int, ...]) -> Plan:
    """Needs and messages of one selection by this protocol; only shapes are looked at."""
    trace = TraceBackend()
    trace.begin_window("selection")
    ROUTES[method](Ops(trace), score, x, ranges)
    return trace.windows[0][1]


def seconds(plan: Plan) -> float:
    """On the reference network, whose two directions are busy at once."""
    return plan.flips * ONE_WAY_S + max(plan.bytes_to_client, plan.bytes_to_server) / BYTES_PER_S
