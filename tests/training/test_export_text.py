"""From a torch BERT to an artifact whose fixed-point answers are those of its hard mode."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from degreespar.artifact import BertGeometry, TextPart, read_client, read_server
from degreespar.cli.main import main
from degreespar.degree import DegreePolicy, IntGrid, Selection
from degreespar.models import Bert, TextCheckpoint, save_text_checkpoint
from degreespar.party.oracle import Oracle
from degreespar.party.texts import Text, to_rows
from degreespar.party.wordpiece import Tokeniser
from degreespar.training import export_text_artifact, uniform_policy
from degreespar.training.export_text import quantised_table
from degreespar.training.texts import encoded

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnop")
GEOMETRY = BertGeometry(
    vocabulary=len(WORDS),
    segments=2,
    positions=16,
    length_classes=(12,),
    embedding="private",
    width=24,
    heads=3,
    ffn_widths=(20, 32),
    classes=3,
    layer_norm_eps=1e-6,
)
LABELS = ("bad", "so so", "good")
LARGEST_GAP = 0.03


@pytest.fixture(scope="module")
def checkpoint() -> TextCheckpoint:
    """Scales and shifts of the norms far from 1 and 0: folding must get them right."""
    torch.manual_seed(5)
    model = Bert(GEOMETRY).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            size = 0.3 if "norm" in name else 0.15
            parameter.add_(torch.randn_like(parameter) * size)
    return TextCheckpoint(model, LABELS, Tokeniser(WORDS, True))


def texts(count: int, longest: int = 10, seed: int = 1) -> list[Text]:
    """Single texts and pairs of different length, with unknown words among them."""
    rng = np.random.default_rng(seed)
    letters = list("abcdefghijklmnopqr")

    def text(most: int) -> str:
        return " ".join(rng.choice(letters, rng.integers(1, most + 1)))

    singles: list[Text] = [(text(longest), None) for _ in range(count // 2)]
    return singles + [(text(longest // 2), text(longest // 2)) for _ in range(count - count // 2)]


def mixed(tokens: int) -> DegreePolicy:
    """Every state somewhere, entries that are off, and a selection in two ranges."""
    plain = uniform_policy(GEOMETRY.at_length(tokens), 5, 4)
    squarings = np.resize(np.array([5, 4, 6, 3, -1, 2], dtype=np.int8), (tokens, tokens))
    squarings[:, 0] = 5
    kept = tokens - 3
    orders = np.resize(np.array([4, 6, 2, 3, 1], dtype=np.int8), (kept, GEOMETRY.ffn_widths[0]))
    first = replace(
        plain.layers[0],
        squarings=IntGrid(squarings),
        selection=Selection(ranges=(2, kept - 3), alpha=0.3),
        gelu_orders=IntGrid(orders),
    )
    second = replace(
        plain.layers[1],
        squarings=IntGrid.uniform(kept, kept, 4),
        gelu_orders=IntGrid.uniform(kept, GEOMETRY.ffn_widths[1], 2),
    )
    return replace(plain, layers=(first, second))


@pytest.mark.parametrize("embedding", ["public", "private"])
@pytest.mark.parametrize("kind", ["high", "low", "mixed"])
def test_the_clear_engine_answers_as_the_hard_mode(
    checkpoint: TextCheckpoint, tmp_path: Path, embedding: str, kind: str
) -> None:
    lengths = (8, 12)
    made = {
        "high": lambda tokens: uniform_policy(GEOMETRY.at_length(tokens), 6, 6),
        "low": lambda tokens: uniform_policy(GEOMETRY.at_length(tokens), 2, 2),
        "mixed": mixed,
    }[kind]
    policies = {tokens: made(tokens) for tokens in lengths}
    calibration = texts(120)

    def batches(tokens: int) -> list[torch.Tensor]:
        return [encoded(calibration, checkpoint.tokeniser, tokens)]

    export_text_artifact(tmp_path, "tiny", checkpoint, policies, batches, embedding)
    public, client, _ = read_client(tmp_path)
    _, tensors, _ = read_server(tmp_path)
    assert isinstance(client, TextPart)
    oracle_tensors = {name: tensor.astype(np.int64) for name, tensor in tensors.items()}
    for longest, tokens in ((10, 12), (4, 8)):
        asked = texts(24, longest, seed=2)
        given = to_rows(asked, public, client)
        assert given.tokens == tokens
        done = Oracle(public.at_length(tokens), oracle_tensors).simulate(given.rows)
        model = checkpoint.model.at_length(tokens)
        model.use(policies[tokens])
        with torch.no_grad():
            hard = model(encoded(asked, checkpoint.tokeniser, tokens)).double().numpy()
        model.use(None)
        gaps = np.abs(done.scores - hard).max(axis=1)
        if kind == "mixed":
            # Two tokens of nearly equal score may change places between floats and integers.
            assert np.sort(gaps)[: len(gaps) * 3 // 4].max() < LARGEST_GAP
        else:
            assert gaps.max() < LARGEST_GAP
        assert sum(count.beyond for count in done.saturations.values()) == 0
        assert hard.std(axis=0).min() > 0.01  # the answers do depend on the texts


def test_tables_are_exact_where_eight_bits_hold_them() -> None:
    grid = np.array([[0.5, -0.25], [0.125, 0.0]])
    table, frac_bits = quantised_table(grid)
    assert table.dtype == np.int8
    assert np.array_equal(table / 2.0**frac_bits, grid)
    fine = np.array([[0.3, 1e-3]])
    table, frac_bits = quantised_table(fine)
    assert (table.dtype, frac_bits) == (np.dtype(np.int16), 12)
    assert np.abs(table / 2.0**12 - fine).max() <= 2.0**-13


def test_export_and_simulate_from_the_command_line(
    checkpoint: TextCheckpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    even = replace(checkpoint.model.geometry, ffn_widths=(20, 20))
    torch.manual_seed(6)
    save_text_checkpoint(tmp_path / "bert", replace(checkpoint, model=Bert(even)))
    for split, count in (("train", 60), ("validation", 7)):
        rows = [{"sentence": f"{text} {n} b", "label": n % 2} for n, (text, _) in enumerate(texts(count))]
        lines = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"{split}.jsonl").write_text(lines)
    model, data = str(tmp_path / "model"), ["--task", "glue/sst2"]
    lengths = ["--length", "8", "--length", "12", "--embedding", "public", "--reveal", "label"]
    command = ["export", str(tmp_path / "bert"), model, "--name", "tiny", "--texts", str(tmp_path)]
    assert main([*command, *data, *lengths]) == 0
    assert main(["info", model]) == 0
    said = capsys.readouterr().out
    assert "tiny: BERT, 2 layers of width 24, 3 heads" in said
    assert "8 or 12 tokens" in said
    assert "opens     the label" in said
    # Three classes against a task of two: refused, in one sentence.
    assert main(["simulate", "--model", model, "--data", str(tmp_path), *data]) == 2
    assert "has 2 classes" in capsys.readouterr().err
    assert main(["simulate", "--model", model, "--text", "a b c", "--pair", "a", "d", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert set(answers) == {"a b c", "a"}
    assert main(["simulate", "--model", model, str(tmp_path / "x.png")]) == 2
    assert "takes texts, not pictures" in capsys.readouterr().err
