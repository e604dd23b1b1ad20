import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from degreespar.errors import DegreeSparError
from degreespar.models import load_text_checkpoint, save_text_checkpoint

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", "##a", "##b", "good", "bad", "."]
SMALL: dict[str, Any] = {
    "vocab_size": len(PIECES),
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "num_labels": 3,
}
GEOMETRIES = [
    SMALL,
    SMALL | {"hidden_size": 24, "num_attention_heads": 3, "num_labels": 2, "layer_norm_eps": 1e-6},
    SMALL | {"num_hidden_layers": 1, "type_vocab_size": 1, "vocab_size": 40},
]


def make(folder: Path, config: dict[str, Any], kind: type[Any] = BertForSequenceClassification) -> Any:
    torch.manual_seed(0)
    model = kind(BertConfig(**config)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    return model


def texts(config: dict[str, Any], tokens: int = 10) -> torch.Tensor:
    """Pieces and marks of three texts of different length; the second segment where there is one."""
    torch.manual_seed(1)
    pieces = torch.randint(config["vocab_size"], (3, tokens))
    marks = torch.ones(3, tokens, dtype=torch.long)
    if config.get("type_vocab_size", 2) > 1:
        marks[:, 4:] = 2
    for row, length in enumerate((tokens, 5, 3)):
        marks[row, length:] = 0
    return torch.stack([pieces, marks], dim=1)


def their_logits(model: Any, given: torch.Tensor) -> torch.Tensor:
    pieces, marks = given.unbind(1)
    answers: torch.Tensor = model(
        input_ids=pieces, attention_mask=(marks > 0).long(), token_type_ids=(marks - 1).clamp(min=0)
    ).logits
    return answers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path, SMALL)
    return tmp_path


@pytest.mark.parametrize("config", GEOMETRIES)
def test_outputs_equal_those_of_transformers(tmp_path: Path, config: dict[str, Any]) -> None:
    theirs = make(tmp_path, config)
    ours = load_text_checkpoint(tmp_path).model
    given = texts(config)
    with torch.no_grad():
        torch.testing.assert_close(ours(given), their_logits(theirs, given), atol=2e-5, rtol=1e-5)


def test_what_stands_in_padding_changes_nothing(folder: Path) -> None:
    model = load_text_checkpoint(folder).model
    given = texts(SMALL)
    other = given.clone()
    other[:, 0][given[:, 1] == 0] = 7
    with torch.no_grad():
        assert torch.equal(model(given), model(other))
        torch.testing.assert_close(model(given[1:, :, :5]), model(given)[1:], atol=1e-5, rtol=1e-5)


def test_transformers_reads_what_we_write(tmp_path: Path) -> None:
    theirs = make(tmp_path / "first", GEOMETRIES[1])
    save_text_checkpoint(tmp_path / "second", load_text_checkpoint(tmp_path / "first"))
    again = BertForSequenceClassification.from_pretrained(tmp_path / "second").eval()
    given = texts(GEOMETRIES[1])
    with torch.no_grad():
        torch.testing.assert_close(
            their_logits(again, given), their_logits(theirs, given), atol=2e-5, rtol=1e-5
        )


def test_a_checkpoint_survives_the_round_trip(folder: Path, tmp_path: Path) -> None:
    change_json(folder / "config.json", id2label={"0": "bad", "1": "so so", "2": "good"})
    first = load_text_checkpoint(folder, tokens=8)
    save_text_checkpoint(tmp_path / "copy", first)
    second = load_text_checkpoint(tmp_path / "copy", tokens=8)
    assert second.labels == first.labels == ("bad", "so so", "good")
    assert second.tokeniser == first.tokeniser
    assert second.model.geometry == first.model.geometry
    assert second.model.geometry.tokens == 8
    for name, value in first.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[name], value)


def test_a_body_without_a_classifier_gets_a_fresh_head(tmp_path: Path) -> None:
    make(tmp_path, SMALL, BertModel)
    refuse(tmp_path, "has no classifier: fine-tune it on labels, or ask for a fresh head")
    labels = ("negative", "positive")
    checkpoint = load_text_checkpoint(tmp_path, fresh_labels=labels)
    assert checkpoint.labels == labels
    assert checkpoint.model.head.weight.shape == (2, 16)
    tensors = load_file(tmp_path / "model.safetensors")
    assert torch.equal(checkpoint.model.pooler.weight, tensors["pooler.dense.weight"])


def test_a_fresh_head_may_replace_one(folder: Path) -> None:
    assert load_text_checkpoint(folder, fresh_labels=("a", "b")).model.head.weight.shape == (2, 16)


def change_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refuse(folder: Path, sentence: str, **options: Any) -> None:
    with pytest.raises(DegreeSparError, match=sentence) as caught:
        load_text_checkpoint(folder, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model_type": "vit"}, "only BertForSequenceClassification and BertModel are supported"),
        ({"hidden_act": "relu"}, "asks for the activation 'relu'"),
        ({"position_embedding_type": "relative_key"}, "asks for relative positions"),
        ({"vocab_size": "20"}, "vocab_size .* must be an integer"),
        ({"num_attention_heads": 3}, "width of 16 cannot be split among 3 heads"),
        ({"num_hidden_layers": 3}, "no tensor bert.encoder.layer.2"),
        ({"num_hidden_layers": 1}, "has a tensor bert.encoder.layer.1.* that its config does not explain"),
        ({"vocab_size": 21}, r"word_embeddings.weight .* shape \(18, 16\), not .* \(21, 16\)"),
        ({"id2label": {"0": "cat"}}, "does not name the 3 classes"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    change_json(folder / "config.json", **changes)
    refuse(folder, sentence)


def test_another_head_is_refused(tmp_path: Path) -> None:
    make(tmp_path, {key: value for key, value in SMALL.items() if key != "num_labels"}, BertForMaskedLM)
    refuse(tmp_path, "describes BertForMaskedLM", fresh_labels=("a", "b"))


def test_longer_texts_than_positions_are_refused(folder: Path) -> None:
    refuse(folder, r"length classes must lie in 3..12", tokens=13)


def test_a_tensor_that_is_missing_is_named(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["bert.pooler.dense.bias"]
    save_file(tensors, path)
    refuse(folder, "has no tensor bert.pooler.dense.bias")


def test_a_vocabulary_that_does_not_fit_is_refused(folder: Path) -> None:
    path = folder / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "a"]))
    refuse(folder, r"the vocabulary has no \[SEP\]")
    path.write_text("\n".join([*PIECES, "a"]))
    refuse(folder, "lists a piece twice")
    path.write_text("\n".join([*PIECES, "more", "than", "known"]))
    refuse(folder, "lists 21 pieces, but the model knows 18")
    path.unlink()
    refuse(folder, "has neither vocab.txt nor tokenizer.json")
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {}}}')
    refuse(folder, "describes no WordPiece tokeniser")
    (folder / "tokenizer.json").write_text('{"model": {"type": "WordPiece", "vocab": {"a": 1}}}')
    refuse(folder, "does not number its pieces")


def test_the_whole_tokenizer_json_is_read_as_well(folder: Path) -> None:
    expected = load_text_checkpoint(folder).tokeniser
    (folder / "vocab.txt").unlink()
    numbers = {piece: number for number, piece in enumerate(PIECES)}
    whole = {"normalizer": {"lowercase": False}, "model": {"type": "WordPiece", "vocab": numbers}}
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    tokeniser = load_text_checkpoint(folder).tokeniser
    assert tokeniser.vocabulary == expected.vocabulary
    assert (tokeniser.lower_case, expected.lower_case) == (False, True)
