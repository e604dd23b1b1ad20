"""The same road for texts: a tiny BERT is compressed, exported and read back."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from degreespar.artifact import BertGeometry, TextPart, read_client, read_server
from degreespar.models import Bert, TextCheckpoint, save_text_checkpoint
from degreespar.party.wordpiece import Tokeniser
from degreespar.training.deploy import export_run
from degreespar.training.public_table import with_pieces
from degreespar.training.session import Outcome, Session, compress
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


def compressed(folder: Path, **changes: object) -> Outcome:
    """The run of a tiny BERT on made texts, in `folder`/run."""
    torch.manual_seed(1)
    source = TextCheckpoint(Bert(GEOMETRY), ("negative", "positive"), Tokeniser(WORDS, True))
    save_text_checkpoint(folder / "model", with_pieces(source, range(len(WORDS))))
    write_texts(folder / "data")
    recipe = made_recipe(epochs=3, ranges=3, tolerance_points=100.0, patience=50, **changes)
    recipe = replace(recipe, sparsify=replace(recipe.sparsify, target_ratio=0.4))
    path = folder / "recipe.json"
    path.write_text(json.dumps(recipe.to_json()))
    session = Session(folder / "model", "glue/sst2", folder / "data", str(path), folder / "run", tokens=10)
    return compress(session, lambda text: None, lambda progress: None)


def test_a_bert_is_compressed_and_exported(tmp_path: Path) -> None:
    outcome = compressed(tmp_path)
    assert outcome.figures["cost_ratio"] < 0.6
    digest = export_run(tmp_path / "run", tmp_path / "deployed", "words")
    public, _, found = read_server(tmp_path / "deployed")
    assert found == digest
    assert public.geometry.tokens == 10
    assert public.policy.layers[1].kept_tokens == outcome.figures["tokens"][1]
    assert isinstance(public.geometry, BertGeometry)
    assert not public.geometry.has_public_table


def test_a_public_table_stays_as_it_was_published_and_goes_to_clients(tmp_path: Path) -> None:
    compressed(tmp_path, public_table=True)
    before = load_file(str(tmp_path / "model" / "model.safetensors"))
    after = load_file(str(tmp_path / "run" / "final" / "weights.safetensors"))
    assert torch.equal(before["bert.embeddings.word_embeddings.weight"], after["words.weight"])
    assert not torch.equal(before["bert.pooler.dense.weight"], after["pooler.weight"])
    export_run(tmp_path / "run", tmp_path / "deployed", "words")
    public, client, _ = read_client(tmp_path / "deployed")
    assert isinstance(public.geometry, BertGeometry) and public.geometry.has_public_table
    assert isinstance(client, TextPart) and client.table is not None
    assert client.table.dtype == np.int8
