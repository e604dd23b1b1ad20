"""Hugging Face folders of BertForSequenceClassification, and of BertModel with a fresh head."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from degreespar.artifact import BertGeometry
from degreespar.models.bert import Bert
from degreespar.models.errors import CheckpointError
from degreespar.models.huggingface_config import Json, check_gelu, read_eps, read_labels, take_whole
from degreespar.models.huggingface_files import (
    CONFIG_FILE,
    WEIGHTS_FILE,
    Taken,
    read_json,
    read_tensors,
    split_query_key_value,
    state_of,
    take_pair,
    take_query_key_value,
    write_json,
    write_tensors,
)
from degreespar.models.huggingface_tokeniser import read_tokeniser, write_tokeniser
from degreespar.party.wordpiece import Tokeniser

ARCHITECTURE, BODY = "BertForSequenceClassification", "BertModel"
BODY_PREFIX = "bert."
HEAD = "classifier"
# Buffers and the heads of pretraining: published with some checkpoints, and not used by the classifier.
UNUSED = ("embeddings.position_ids", "bert.embeddings.position_ids", "cls.")

LAYER_NAMES = {
    "attention.projection": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "expand": "intermediate.dense",
    "contract": "output.dense",
    "ffn_norm": "output.LayerNorm",
}
MODEL_NAMES = {"embedding_norm": "embeddings.LayerNorm", "pooler": "pooler.dense"}


@dataclass(frozen=True)
class TextCheckpoint:
    """A classifier of texts with the names of its classes and its tokeniser."""

    model: Bert
    labels: tuple[str, ...]
    tokeniser: Tokeniser


def load_text_checkpoint(
    folder: Path, tokens: int | None = None, fresh_labels: tuple[str, ...] | None = None
) -> TextCheckpoint:
    """Read a folder as `save_pretrained` writes it, for texts of up to `tokens` (default: all positions).

    With `fresh_labels` the head is new, whatever the folder holds. Anything else than such a folder is a
    CheckpointError in one sentence.
    """
    path = folder / CONFIG_FILE
    config = read_json(path)
    tensors = read_tensors(folder)
    labels = fresh_labels or _labels(folder, config, tensors)
    geometry = _geometry(path, config, tokens, len(labels))
    model = Bert(geometry)
    _load(model, folder, tensors, fresh=fresh_labels is not None)
    model.eval()
    tokeniser = read_tokeniser(folder)
    if len(tokeniser.vocabulary) > geometry.vocabulary:
        raise CheckpointError(
            f"the vocabulary of {folder} lists {len(tokeniser.vocabulary)} pieces, "
            f"but the model knows {geometry.vocabulary}"
        )
    return TextCheckpoint(model, labels, tokeniser)


def save_text_checkpoint(folder: Path, checkpoint: TextCheckpoint) -> None:
    """Write the folder that `load_text_checkpoint` and transformers read; parameters in float32."""
    config = _config_json(checkpoint.model.geometry, checkpoint.labels)
    write_tensors(folder, _from_model(checkpoint.model))
    write_json(folder / CONFIG_FILE, config)
    write_tokeniser(folder, checkpoint.tokeniser)


def _geometry(path: Path, config: Json, tokens: int | None, classes: int) -> BertGeometry:
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else config.get("model_type")
    if config.get("model_type") != "bert" or first not in (ARCHITECTURE, BODY, "bert"):
        raise CheckpointError(f"{path} describes {first}; only {ARCHITECTURE} and {BODY} are supported")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(f"{path} asks for relative positions; only absolute ones are supported")
    check_gelu(path, config)
    positions = take_whole(path, config, "max_position_embeddings")
    ffn_width = take_whole(path, config, "intermediate_size")
    return BertGeometry(
        vocabulary=take_whole(path, config, "vocab_size"),
        segments=take_whole(path, {"type_vocab_size": 2} | config, "type_vocab_size"),
        positions=positions,
        length_classes=(positions if tokens is None else tokens,),
        embedding="private",
        width=take_whole(path, config, "hidden_size"),
        heads=take_whole(path, config, "num_attention_heads"),
        ffn_widths=(ffn_width,) * take_whole(path, config, "num_hidden_layers"),
        classes=classes,
        layer_norm_eps=read_eps(path, config),
    )


def _labels(folder: Path, config: Json, tensors: dict[str, Tensor]) -> tuple[str, ...]:
    head = tensors.get(f"{HEAD}.weight")
    if head is None or head.ndim != 2:
        raise CheckpointError(
            f"{folder / WEIGHTS_FILE} has no classifier: fine-tune it on labels, or ask for a fresh head"
        )
    return read_labels(folder / CONFIG_FILE, config, len(head))


def _load(model: Bert, folder: Path, tensors: dict[str, Tensor], fresh: bool) -> None:
    geometry = model.geometry
    prefixed = any(name.startswith(BODY_PREFIX) for name in tensors)
    prefix = BODY_PREFIX if prefixed else ""
    taken = Taken(folder / WEIGHTS_FILE, tensors, (*UNUSED, f"{HEAD}.") if fresh else UNUSED)
    width, embeddings = geometry.width, f"{prefix}embeddings"
    state = {
        "words.weight": taken.take(f"{embeddings}.word_embeddings.weight", geometry.vocabulary, width),
        "segments.weight": taken.take(f"{embeddings}.token_type_embeddings.weight", geometry.segments, width),
        "positions": taken.take(f"{embeddings}.position_embeddings.weight", geometry.positions, width),
    }
    for index, ffn_width in enumerate(geometry.ffn_widths):
        shapes = {"attention.projection": (width, width), "expand": (ffn_width, width)}
        shapes["contract"] = (width, ffn_width)
        ours, theirs = f"layers.{index}", f"{prefix}encoder.layer.{index}"
        for mine, other in LAYER_NAMES.items():
            take_pair(taken, state, f"{ours}.{mine}", f"{theirs}.{other}", shapes.get(mine, (width,)))
        query_key_value = f"{ours}.attention.query_key_value"
        take_query_key_value(taken, state, query_key_value, f"{theirs}.attention.self", width, bias=True)
    take_pair(taken, state, "embedding_norm", f"{prefix}{MODEL_NAMES['embedding_norm']}", (width,))
    take_pair(taken, state, "pooler", f"{prefix}{MODEL_NAMES['pooler']}", (width, width))
    if fresh:
        state |= {"head.weight": model.head.weight.data, "head.bias": model.head.bias.data}
    else:
        take_pair(taken, state, "head", HEAD, (geometry.classes, width))
    taken.finish()
    model.load_state_dict(state)


def _from_model(model: Bert) -> dict[str, Tensor]:
    state, embeddings = state_of(model), f"{BODY_PREFIX}embeddings"
    tensors = {
        f"{embeddings}.word_embeddings.weight": state["words.weight"],
        f"{embeddings}.token_type_embeddings.weight": state["segments.weight"],
        f"{embeddings}.position_embeddings.weight": state["positions"],
    }
    pairs = {ours: f"{BODY_PREFIX}{theirs}" for ours, theirs in MODEL_NAMES.items()} | {"head": HEAD}
    for index in range(model.geometry.layers):
        ours, theirs = f"layers.{index}", f"{BODY_PREFIX}encoder.layer.{index}"
        pairs |= {f"{ours}.{mine}": f"{theirs}.{other}" for mine, other in LAYER_NAMES.items()}
        query_key_value = f"{ours}.attention.query_key_value"
        tensors |= split_query_key_value(state, query_key_value, f"{theirs}.attention.self")
    for mine, other in pairs.items():
        tensors |= {f"{other}.{kind}": state[f"{mine}.{kind}"] for kind in ("weight", "bias")}
    return tensors


def _config_json(geometry: BertGeometry, labels: tuple[str, ...]) -> Json:
    if len(set(geometry.ffn_widths)) != 1:
        raise CheckpointError("a Hugging Face config has one FFN width, this model's layers differ in theirs")
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "position_embedding_type": "absolute",
        "vocab_size": geometry.vocabulary,
        "type_vocab_size": geometry.segments,
        "max_position_embeddings": geometry.positions,
        "hidden_size": geometry.width,
        "num_attention_heads": geometry.heads,
        "num_hidden_layers": geometry.layers,
        "intermediate_size": geometry.ffn_widths[0],
        "layer_norm_eps": geometry.layer_norm_eps,
        "pad_token_id": 0,
        "id2label": {str(index): label for index, label in enumerate(labels)},
        "label2id": {label: index for index, label in enumerate(labels)},
    }
