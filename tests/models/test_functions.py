import pytest
import torch

from degreespar.models.aware import Awareness
from degreespar.models.functions import AS_WRITTEN, fused_functions
from degreespar.models.relaxed import Ladder

SQUARINGS, ORDERS = Ladder((-1, 0, 1, 2)), Ladder((0, 1, 2))
Named = dict[str, torch.Tensor]


@pytest.mark.slow
# torch looks at intermediate gradients while it traces, and warns about it.
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize(("tokens", "awareness"), [(5, Awareness(0.0, False)), (9, Awareness())])
def test_fused_functions_and_their_gradients_are_those_that_are_written(
    tokens: int, awareness: Awareness
) -> None:
    torch.manual_seed(tokens)
    scores = (3 * torch.randn(2, 2, tokens, tokens)).requires_grad_()
    hidden = (3 * torch.randn(2, tokens, 6)).requires_grad_()
    squarings = (torch.rand(tokens, tokens) * 3 - 1).fill_diagonal_(1.0).requires_grad_()
    orders = (torch.rand(tokens, 6) * 2).requires_grad_()
    presence = torch.ones(2, tokens, requires_grad=True)
    draws = awareness.draws(scores), awareness.draws(hidden)
    grids = SQUARINGS.nearest(squarings), ORDERS.nearest(orders)
    found: list[Named] = []
    for functions in (AS_WRITTEN, fused_functions()):
        weights = SQUARINGS.weights(squarings, True), ORDERS.weights(orders, True)
        values = {
            "relaxed softmax": functions.relaxed_softmax(scores, weights[0], presence, awareness, draws[0]),
            "without presence": functions.relaxed_softmax(scores, weights[0], None, awareness, draws[0]),
            "relaxed gelu": functions.relaxed_gelu(hidden, weights[1], awareness, draws[1]),
            "softmax": functions.softmax(scores, grids[0], tuple(grids[0].unique().tolist())),
            "gelu": functions.gelu(hidden, grids[1], tuple(grids[1].unique().tolist())),
        }
        named: Named = dict(values)
        moving = {"scores": scores, "hidden": hidden, "squarings": squarings, "orders": orders}
        moving["presence"] = presence
        for name, value in values.items():
            pulled = torch.autograd.grad(
                (value**3).sum(), list(moving.values()), allow_unused=True, retain_graph=True
            )
            pairs = zip(moving, pulled, strict=True)
            named |= {f"{name} by {by}": gradient for by, gradient in pairs if gradient is not None}
        found.append(named)
    written, fused = found
    assert written.keys() == fused.keys()
    for name, value in written.items():
        torch.testing.assert_close(fused[name], value, atol=1e-5, rtol=1e-5, msg=name)
