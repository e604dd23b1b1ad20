"""The torch BERT in hard mode: the segmented functions of a policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from degreespar.artifact import BertGeometry
from degreespar.degree import IntGrid, Selection
from degreespar.models import Bert, ModelError
from degreespar.models.bert import segmented_tanh
from degreespar.numerics import TANH
from degreespar.training import uniform_policy

GEOMETRY = BertGeometry(
    vocabulary=20,
    segments=2,
    positions=8,
    length_classes=(8,),
    embedding="public",
    width=16,
    heads=2,
    ffn_widths=(12, 20),
    classes=3,
    layer_norm_eps=1e-6,
)


def model() -> Bert:
    torch.manual_seed(3)
    made = Bert(GEOMETRY).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return made


def texts() -> torch.Tensor:
    torch.manual_seed(4)
    marks = torch.tensor([[1] * 8, [1, 1, 1, 2, 2, 0, 0, 0]])
    return torch.stack([torch.randint(20, (2, 8)), marks], dim=1)


def test_tanh_is_that_of_the_tables() -> None:
    x = torch.linspace(-6, 6, 4001)
    expected = TANH.evaluate(x.double().numpy())
    # Terms of size 30 cancel near the edge: that is what float32 keeps of their difference.
    assert np.abs(segmented_tanh(x).numpy() - expected).max() < 2e-5


def test_high_degrees_come_close_to_the_exact_model() -> None:
    made, given = model(), texts()
    with torch.no_grad():
        exact = made(given)
        made.use(uniform_policy(GEOMETRY, 6, 6))
        hard = made(given)
        made.use(None)
        assert torch.equal(made(given), exact)
    assert 0 < float((hard - exact).abs().max()) < 0.1


def test_padding_has_no_weight_in_hard_mode() -> None:
    made, given = model(), texts()
    made.use(uniform_policy(GEOMETRY, 0, 2))
    other = given.clone()
    other[1, 0, 5:] = 9
    with torch.no_grad():
        assert torch.equal(made(given), made(other))


def test_selection_drops_padding_first_and_its_mask_goes_along() -> None:
    """Ranges for six of the eight tokens: the second text's five real ones stay, and one of padding."""
    made, given = model(), texts()
    plain = uniform_policy(GEOMETRY, 6, 6)
    first = replace(
        plain.layers[0],
        selection=Selection(ranges=(2, 3), alpha=0.5),
        gelu_orders=IntGrid.uniform(6, 12, 6),
    )
    second = replace(
        plain.layers[1], squarings=IntGrid.uniform(6, 6, 6), gelu_orders=IntGrid.uniform(6, 20, 6)
    )
    made.use(replace(plain, layers=(first, second)))
    other = given.clone()
    other[1, 0, 5:] = 9
    with torch.no_grad():
        selected = made(given)
        assert torch.equal(selected, made(other))
        made.use(plain)
        whole = made(given)
    # Nothing real was dropped from the short text, and something from the long one.
    torch.testing.assert_close(selected[1], whole[1], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(selected[0], whole[0], atol=1e-5)


def test_a_policy_of_another_shape_is_refused() -> None:
    with pytest.raises(ModelError, match="the policy has 2 layers and the model has 1"):
        Bert(
            BertGeometry(20, 2, 8, (8,), "public", 16, 2, (12,), 3, 1e-6)
        ).use(uniform_policy(GEOMETRY, 5, 4))  # fmt: skip
    with pytest.raises(ModelError, match="is for 6 tokens and an FFN of 12, the model needs 8 and 12"):
        model().use(uniform_policy(GEOMETRY.at_length(6), 5, 4))


def test_longer_texts_than_positions_are_refused() -> None:
    with pytest.raises(ModelError, match="a text of 9 tokens has no position past 8"):
        model()(torch.ones(1, 2, 9, dtype=torch.long))
