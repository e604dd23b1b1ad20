import pytest
import torch

from degreespar.models.aware import Awareness
from degreespar.models.functions import AS_WRITTEN, fused_functions
from degreespar.models.relaxed import Ladder

SQUARINGS, ORDERS = Ladder((-1, 0, 1, 2)), Ladder((0, 1, 2))
QUIET = Awareness(0.0, False)


@pytest.mark.slow
# torch looks at intermediate gradients while it traces, and warns about it.
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("tokens", [5, 9])
def test_fused_functions_are_those_that_are_written(tokens: int) -> None:
    torch.manual_seed(tokens)
    scores = 3 * torch.randn(2, 2, tokens, tokens, requires_grad=True)
    hidden = 3 * torch.randn(2, tokens, 6, requires_grad=True)
    squarings = (torch.rand(tokens, tokens) * 3 - 1).fill_diagonal_(1.0).requires_grad_()
    orders = (torch.rand(tokens, 6) * 2).requires_grad_()
    presence = torch.ones(2, tokens, requires_grad=True)
    found = []
    for functions in (AS_WRITTEN, fused_functions()):
        rows = functions.relaxed_softmax(scores, SQUARINGS.weights(squarings, True), presence, QUIET)
        units = functions.relaxed_gelu(hidden, ORDERS.weights(orders, True), QUIET)
        moving = [scores, hidden, squarings, orders, presence]
        gradients = torch.autograd.grad((rows**2).sum() + (units**2).sum(), moving)
        grid, order_grid = SQUARINGS.nearest(squarings), ORDERS.nearest(orders)
        hard = functions.softmax(scores, grid, tuple(grid.unique().tolist()))
        activated = functions.gelu(hidden, order_grid, tuple(order_grid.unique().tolist()))
        found.append([rows, units, *gradients, hard, activated])
    for written, fused in zip(*found, strict=True):
        torch.testing.assert_close(fused, written, atol=1e-5, rtol=1e-5)
