"""The same road for texts: a tiny BERT is compressed, exported and read back."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from degreespar.artifact import BertGeometry, read_server
from degreespar.models import Bert, TextCheckpoint, save_text_checkpoint
from degreespar.party.wordpiece import Tokeniser
from degreespar.training.deploy import export_run
from degreespar.training.session import Session, compress
from tests.training.tiny import made_recipe

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "bad", "good", *"abcdefghijklmnop")
GEOMETRY = BertGeometry(len(WORDS), 2, 16, (10,), "private", 16, 2, (20, 20), 2, 1e-6)


def write_texts(folder: Path) -> None:
    """A text's class is which of two words is in it."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for split, count in (("train", 400), ("validation", 60)):
        lines = []
        for _ in range(count):
            label = int(rng.integers(2))
            words = [WORDS[int(n)] for n in rng.integers(6, len(WORDS), 6)]
            words.insert(int(rng.integers(6)), WORDS[4 + label])
            lines.append(json.dumps({"sentence": " ".join(words), "label": label}))
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")


def test_a_bert_is_compressed_and_exported(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Bert(GEOMETRY)
    save_text_checkpoint(
        tmp_path / "model", TextCheckpoint(model, ("negative", "positive"), Tokeniser(WORDS, True))
    )
    write_texts(tmp_path / "data")
    recipe = made_recipe(epochs=3, ranges=3, tolerance_points=100.0, patience=50)
    recipe = replace(recipe, sparsify=replace(recipe.sparsify, target_ratio=0.4))
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe.to_json()))
    session = Session(
        tmp_path / "model", "glue/sst2", tmp_path / "data", str(path), tmp_path / "run", tokens=10
    )
    outcome = compress(session, lambda text: None, lambda progress: None)
    assert outcome.figures["cost_ratio"] < 0.6
    digest = export_run(tmp_path / "run", tmp_path / "deployed", "words")
    public, _, found = read_server(tmp_path / "deployed")
    assert found == digest
    assert public.geometry.tokens == 10
    assert public.policy.layers[1].kept_tokens == outcome.figures["tokens"][1]
