import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from degreespar.errors import DegreeSparError
from degreespar.models import CheckpointError, load_checkpoint, save_checkpoint

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers import DeiTConfig, DeiTForImageClassification, ViTConfig, ViTForImageClassification

SMALL: dict[str, Any] = {
    "image_size": 8,
    "patch_size": 4,
    "num_channels": 1,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 24,
    "num_labels": 3,
}
GEOMETRIES = [
    SMALL,
    SMALL
    | {"num_channels": 3, "image_size": 12, "hidden_size": 24, "num_attention_heads": 3, "num_labels": 5},
    SMALL | {"patch_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1, "layer_norm_eps": 1e-6},
    SMALL | {"qkv_bias": False},
]


def make(folder: Path, config: dict[str, Any]) -> ViTForImageClassification:
    torch.manual_seed(0)
    model = ViTForImageClassification(ViTConfig(**config)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path, SMALL)
    return tmp_path


@pytest.mark.parametrize("config", GEOMETRIES)
def test_outputs_equal_those_of_transformers(tmp_path: Path, config: dict[str, Any]) -> None:
    theirs = make(tmp_path, config)
    ours = load_checkpoint(tmp_path).model
    pixels = torch.randn(4, config["num_channels"], config["image_size"], config["image_size"])
    with torch.no_grad():
        torch.testing.assert_close(ours(pixels), theirs(pixels).logits, atol=2e-5, rtol=1e-5)


def test_transformers_reads_what_we_write(tmp_path: Path) -> None:
    theirs = make(tmp_path / "first", GEOMETRIES[1])
    save_checkpoint(tmp_path / "second", load_checkpoint(tmp_path / "first"))
    again = ViTForImageClassification.from_pretrained(tmp_path / "second").eval()
    pixels = torch.randn(2, 3, 12, 12)
    with torch.no_grad():
        torch.testing.assert_close(again(pixels).logits, theirs(pixels).logits, atol=2e-5, rtol=1e-5)


def test_a_checkpoint_survives_the_round_trip(folder: Path, tmp_path: Path) -> None:
    change_json(folder / "config.json", id2label={"0": "cat", "1": "dog", "2": "hen"})
    (folder / "preprocessor_config.json").write_text('{"image_mean": [0.25], "image_std": [0.75]}')
    first = load_checkpoint(folder)
    save_checkpoint(tmp_path / "copy", first)
    second = load_checkpoint(tmp_path / "copy")
    assert (second.labels, second.normalisation) == (first.labels, first.normalisation)
    assert second.labels == ("cat", "dog", "hen")
    assert second.normalisation.mean == (0.25,)
    assert second.model.geometry == first.model.geometry
    for name, value in first.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[name], value)


def test_half_precision_is_read(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file({name: value.half() for name, value in load_file(path).items()}, path)
    assert load_checkpoint(folder).model.head.weight.dtype == torch.float32


def change_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_tensor(folder: Path, name: str, change: Callable[[torch.Tensor], torch.Tensor | None]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    changed = change(tensors.pop(name)) if name in tensors else change(torch.zeros(1))
    save_file(tensors if changed is None else tensors | {name: changed}, path)


def refuse(folder: Path, sentence: str) -> None:
    with pytest.raises(DegreeSparError, match=sentence) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "describes BertForMaskedLM; only ViT"),
        ({"architectures": ["ViTModel"]}, "describes ViTModel; only ViTForImageClassification"),
        ({"hidden_act": "gelu_new"}, "asks for the activation 'gelu_new'"),
        ({"image_size": [8, 12]}, r"image_size .* is \[8, 12\]; only squares"),
        ({"hidden_size": "16"}, "hidden_size .* must be an integer, not '16'"),
        ({"num_channels": True}, "num_channels .* must be an integer"),
        ({"num_attention_heads": 3}, "width of 16 cannot be split among 3 heads"),
        ({"layer_norm_eps": None}, "layer_norm_eps .* is not a number"),
        ({"id2label": {"0": "cat"}}, "does not name the 3 classes"),
        ({"num_hidden_layers": 3}, "no tensor vit.encoder.layer.2"),
        ({"num_hidden_layers": 1}, "has a tensor vit.encoder.layer.1.* that its config does not explain"),
        ({"intermediate_size": 25}, r"intermediate.dense.weight .* shape \(24, 16\), not .* \(25, 16\)"),
        ({"qkv_bias": False}, "has a tensor .*bias that its config does not explain"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    change_json(folder / "config.json", **changes)
    refuse(folder, sentence)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("classifier.weight", lambda t: None, "has no classifier"),
        ("classifier.bias", lambda t: t[:2], r"classifier.bias .* shape \(2,\), not .* \(3,\)"),
        ("vit.layernorm.bias", lambda t: None, "has no tensor vit.layernorm.bias"),
        ("vit.layernorm.bias", lambda t: t.int(), "vit.layernorm.bias .* torch.int32"),
        ("vit.layernorm.bias", lambda t: t * float("nan"), "values that are not finite"),
        ("vit.mask_token", lambda t: t, "has a tensor vit.mask_token"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(
    folder: Path, name: str, change: Callable[[torch.Tensor], torch.Tensor | None], sentence: str
) -> None:
    change_tensor(folder, name, change)
    refuse(folder, sentence)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"image_mean": [0.5, 0.5]}, "image_mean .* list of 1 numbers"),
        ({"image_std": "0.5"}, "image_std .* list of 1 numbers"),
        ({"do_rescale": False}, "unscaled pixels"),
    ],
)
def test_a_preprocessor_that_does_not_fit_is_refused(
    folder: Path, changes: dict[str, Any], sentence: str
) -> None:
    (folder / "preprocessor_config.json").write_text(json.dumps(changes))
    refuse(folder, sentence)


def test_files_that_are_missing_or_damaged_are_named(folder: Path) -> None:
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-10])
    refuse(folder, "model.safetensors is not a complete safetensors file")
    weights.unlink()
    refuse(folder, "model.safetensors is missing")
    (folder / "pytorch_model.bin").write_bytes(b"")
    refuse(folder, "pickles are not read")
    (folder / "config.json").write_text("{")
    refuse(folder, "config.json cannot be read as JSON")
    (folder / "config.json").write_text("[]")
    refuse(folder, "does not hold a JSON object")
    (folder / "config.json").unlink()
    refuse(folder, "config.json is missing")


def test_a_distilled_deit_is_refused(tmp_path: Path) -> None:
    DeiTForImageClassification(DeiTConfig(**SMALL)).save_pretrained(tmp_path)
    refuse(tmp_path, "DeiTForImageClassification, whose distillation token is not supported")


def test_a_model_of_uneven_layers_has_no_folder(folder: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from degreespar.models import Vit

    checkpoint = load_checkpoint(folder)
    uneven = Vit(replace(checkpoint.model.geometry, ffn_widths=(24, 20)))
    with pytest.raises(CheckpointError, match="one FFN width"):
        save_checkpoint(tmp_path / "uneven", replace(checkpoint, model=uneven))
    assert not (tmp_path / "uneven" / "config.json").exists()
