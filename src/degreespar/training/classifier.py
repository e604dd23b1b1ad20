"""The models that runs compress, and the folders they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from degreespar.models.behaviour import Behaviour
from degreespar.models.bert import Bert, BertLayer
from degreespar.models.vit import Layer, Vit
from degreespar.training.errors import RunError

Classifier = Vit | Bert


def behave(model: Classifier, behaviours: Sequence[Behaviour]) -> None:
    """Give every layer its behaviour."""
    layers: Iterator[Layer | BertLayer] = model.blocks()
    for layer, behaviour in zip(layers, behaviours, strict=True):
        layer.behaviour = behaviour


def contractions(model: Classifier) -> list[nn.Linear]:
    """The second FFN matrix of every layer."""
    return [layer.contract for layer in model.blocks()]


def narrowed(model: Classifier, kept: Sequence[Tensor]) -> Classifier:
    """The model with only the FFN dimensions that `kept` numbers in each layer, as smaller matrices."""
    for layer, indices in enumerate(kept):
        if not len(indices):
            raise RunError(f"no FFN dimension is left in layer {layer}")
    state = dict(model.state_dict())
    for layer, indices in enumerate(kept):
        expand, contract = f"layers.{layer}.expand", f"layers.{layer}.contract"
        chosen = indices.to(state[f"{expand}.weight"].device)
        state[f"{expand}.weight"] = state[f"{expand}.weight"][chosen]
        state[f"{expand}.bias"] = state[f"{expand}.bias"][chosen]
        state[f"{contract}.weight"] = state[f"{contract}.weight"][:, chosen]
    return with_state(model, state)


def with_state(model: Classifier, state: dict[str, Tensor]) -> Classifier:
    """A model of the same kind whose FFN widths are those of `state`, in the exact mode."""
    layers = range(model.geometry.layers)
    widths = tuple(len(state[f"layers.{layer}.expand.bias"]) for layer in layers)
    device = next(model.parameters()).device
    other: Classifier
    if isinstance(model, Vit):
        other = Vit(replace(model.geometry, ffn_widths=widths))
    else:
        other = Bert(replace(model.geometry, ffn_widths=widths))
    other.load_state_dict(state)
    return other.to(device).eval()


def right_answers(model: Classifier, inputs: Tensor, labels: Tensor) -> int:
    """How many of a batch the model, as it now computes, gets right."""
    with torch.no_grad():
        return int((model(inputs).argmax(dim=-1) == labels).sum())
