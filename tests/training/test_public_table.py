from __future__ import annotations

import numpy as np
import torch

from degreespar.artifact import BertGeometry
from degreespar.models import Bert, TextCheckpoint
from degreespar.party.wordpiece import Tokeniser
from degreespar.training.public_table import on_grid, pieces_in_use, with_pieces
from degreespar.training.texts import LabelledTexts, encoded

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "rare", "often", "##ly")
TOKENISER = Tokeniser(WORDS, True)


def test_pieces_that_are_used_often_special_or_single_are_kept() -> None:
    texts = LabelledTexts((("often rarely", None), ("often", None)), np.zeros(2, np.int64))
    kept = [WORDS[number] for number in pieces_in_use(TOKENISER, texts, 2)]
    assert kept == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "often"]


def test_the_grid_is_one_of_eight_bits() -> None:
    found = on_grid(torch.tensor([0.001, 0.002, -0.3, 5.0]))
    assert found.tolist() == [0.0, 1 / 256, -77 / 256, 127 / 256]


def test_with_fewer_pieces_a_text_means_the_same_up_to_the_grid() -> None:
    torch.manual_seed(0)
    model = Bert(BertGeometry(len(WORDS), 2, 8, (8,), "private", 16, 2, (12,), 2, 1e-6))
    with torch.no_grad():
        for name in ("words.weight", "segments.weight"):
            model.get_parameter(name).copy_(on_grid(model.get_parameter(name)))
    whole = TextCheckpoint(model.eval(), ("n", "y"), TOKENISER)
    fewer = with_pieces(whole, [0, 1, 2, 3, 4, 7])
    assert fewer.tokeniser.vocabulary == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "often")
    texts = [("often a", None), ("a", None)]
    with torch.no_grad():
        before = model(encoded(texts, TOKENISER, 8))
        after = fewer.model.eval()(encoded(texts, fewer.tokeniser, 8))
    torch.testing.assert_close(after, before)
    assert not fewer.model.words.weight.requires_grad
    assert fewer.model.pooler.weight.requires_grad
