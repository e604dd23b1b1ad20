"""Selection as programs call it: score, choose the protocol, route; [CLS] stays in front."""

from degreespar.degree import Selection
from degreespar.engine import layout
from degreespar.engine.ops import Ops
from degreespar.engine.secret import Secret
from degreespar.program.selection.choice import ROUTES, cheaper
from degreespar.program.vca import ClassRow, class_attention, significance


def select_tokens(
    ops: Ops,
    x: Secret,
    variance: Secret,
    class_row: ClassRow,
    selection: Selection,
    mean_variance: tuple[float, float],
) -> Secret:
    """The tokens of x (..., tokens, width) that go on: [CLS] first, then the rank ranges.

    `variance` (..., tokens) and what [CLS] pays score the tokens; the mean variance of those but [CLS]
    is in the public range. Which tokens they are is known to nobody.
    """
    ops.part("selection")
    others = layout.part(x, slice(1, None), slice(None))
    if selection.ranges == (others.shape[-2],):
        return x  # one range of all: nothing moves
    attention = class_attention(ops, class_row)
    score = significance(ops, variance, attention, selection.alpha, mean_variance)
    routed = route(ops, score, others, selection)
    return layout.concatenate([layout.part(x, slice(0, 1), slice(None)), routed], axis=-2)


def route(ops: Ops, score: Secret, x: Secret, selection: Selection) -> Secret:
    """The rows of x (..., N, width) in rank ranges by their scores (..., N), by the selection's protocol."""
    method = selection.method or cheaper(score, x, selection.ranges)
    return ROUTES[method](ops, score, x, selection.ranges)
