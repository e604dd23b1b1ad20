from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from degreespar.artifact import BIAS_FRAC_BITS, PublicPart, read_client, read_server
from degreespar.degree import DegreePolicy, IntGrid, LayerPolicy
from degreespar.models import Checkpoint
from degreespar.models.vit import patch_vectors
from degreespar.numerics import EXPONENTIAL, GELU, OFF, decode
from degreespar.training import ExportError, export_artifact, uniform_policy
from degreespar.training.export import quantised_weight
from degreespar.training.fold import folded

Reals = Any


def mixed_policy(checkpoint: Checkpoint) -> DegreePolicy:
    """Another degree at almost every entry, some off, some units removed."""
    geometry, rng = checkpoint.model.geometry, np.random.default_rng(2)
    uniform = uniform_policy(geometry, 5, 4)
    layers = []
    for layer, ffn_width in zip(uniform.layers, geometry.ffn_widths, strict=True):
        squarings = rng.choice([OFF, 0, 1, 2, 3, 4, 5, 6], (geometry.tokens, geometry.tokens))
        np.fill_diagonal(squarings, 4)
        orders = rng.choice([0, 1, 2, 3, 4, 6], (geometry.tokens, ffn_width))
        layers.append(LayerPolicy(IntGrid(squarings), IntGrid(orders), layer.bounds))
    return DegreePolicy(tuple(layers), uniform.bounds)


def pixels(count: int = 6) -> torch.Tensor:
    return torch.randn(count, 2, 8, 8, generator=torch.Generator().manual_seed(3))


def reference(public: PublicPart, tensors: dict[str, Any], patches: Reals) -> Reals:
    """The program's steps in double precision on the artifact's own numbers."""
    geometry = public.geometry
    real = {entry.name: decode(tensors[entry.name], entry.frac_bits) for entry in public.weights}

    def linear(x: Reals, name: str) -> Reals:
        return x @ real[f"{name}.weight"] + real[f"{name}.bias"]

    def norm(x: Reals) -> Reals:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + geometry.layer_norm_eps)

    rows = np.pad(patches @ real["patch.weight"], ((0, 0), (1, 0), (0, 0)))
    x = rows + real["embedding.bias"]
    for index, policy in enumerate(public.policy.layers):
        qkv = linear(norm(x), f"layers.{index}.query_key_value")
        heads = qkv.reshape(*x.shape[:2], 3, geometry.heads, geometry.head_width).transpose(2, 0, 3, 1, 4)
        context = weights(heads[0] @ heads[1].swapaxes(-1, -2), policy.squarings.values) @ heads[2]
        merged = context.transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + linear(merged, f"layers.{index}.projection")
        hidden = linear(norm(x), f"layers.{index}.expand")
        x = x + linear(activated(hidden, policy.gelu_orders.values), f"layers.{index}.contract")
    return linear(norm(x[:, 0]), "head")


def weights(scores: Reals, grid: Reals) -> Reals:
    shifted = scores - np.where(grid == OFF, -np.inf, scores).max(-1, keepdims=True)
    powers = np.zeros_like(scores)
    for n, state in EXPONENTIAL.items():
        powers = np.where(grid == n, state.evaluate(np.minimum(shifted, 0)), powers)
    return powers / powers.sum(-1, keepdims=True)


def activated(hidden: Reals, grid: Reals) -> Reals:
    result = np.zeros_like(hidden)
    for order, state in GELU.items():
        result = np.where(grid == order, state.evaluate(hidden), result)
    return result


@pytest.mark.parametrize("mixed", [False, True])
def test_the_artifact_computes_what_the_model_does(
    checkpoint: Checkpoint, tmp_path: Path, mixed: bool
) -> None:
    model = checkpoint.model
    policy = mixed_policy(checkpoint) if mixed else uniform_policy(model.geometry, 5, 4)
    digest = export_artifact(tmp_path, "small", checkpoint, policy, [pixels()])
    public, tensors, read_digest = read_server(tmp_path)
    assert read_digest == digest
    answer = reference(public, tensors, patch_vectors(pixels(), 4).double().numpy())
    model.use(policy)
    expected = model(pixels()).detach().numpy()
    # 16-bit weights and 12-bit biases move the logits by little; an error in folding by far more.
    assert np.abs(answer - expected).max() < 4e-3
    assert np.abs(expected).max() > 0.5


def test_the_client_part_normalises_as_the_model_was_trained(checkpoint: Checkpoint, tmp_path: Path) -> None:
    policy = uniform_policy(checkpoint.model.geometry, 5, 4)
    export_artifact(tmp_path, "small", checkpoint, policy, [pixels()])
    public, client, _ = read_client(tmp_path)
    assert (client.mean, client.std) == ((0.3, 0.5), (0.4, 0.25))
    assert (public.labels, public.name) == (("cat", "dog", "hen"), "small")
    assert public.policy.layers[0].squarings == policy.layers[0].squarings


def test_the_same_model_gives_the_same_bytes(checkpoint: Checkpoint, tmp_path: Path) -> None:
    policy = uniform_policy(checkpoint.model.geometry, 5, 4)
    digests = {
        export_artifact(tmp_path / name, "small", checkpoint, policy, [pixels()]) for name in ("a", "b")
    }
    assert len(digests) == 1


def test_biases_are_within_half_a_unit(checkpoint: Checkpoint, tmp_path: Path) -> None:
    policy = uniform_policy(checkpoint.model.geometry, 5, 4)
    export_artifact(tmp_path, "small", checkpoint, policy, [pixels()])
    _, tensors, _ = read_server(tmp_path)
    for name, part in folded(checkpoint.model).items():
        read = decode(tensors[f"{name}.bias"], BIAS_FRAC_BITS)
        assert np.abs(read - part.bias).max() <= 2.0**-13


@pytest.mark.parametrize(
    ("largest", "frac_bits"),
    [(0.5, 14), (32767 / 2**14, 14), (2.0, 13), (32767.0, 0), (1e-9, 14), (0.0, 14)],
)
def test_a_weight_keeps_the_most_fraction_bits(largest: float, frac_bits: int) -> None:
    real = np.array([[largest, -largest], [0.0, largest / 3]])
    integers, found = quantised_weight("w", real)
    assert found == frac_bits
    assert integers.dtype == np.int16
    assert np.abs(decode(integers, found) - real).max() <= 0.5 / 2**found


def test_a_weight_beyond_16_bits_is_refused() -> None:
    with pytest.raises(ExportError, match="w has a weight of 32768"):
        quantised_weight("w", np.array([[32768.0]]))


def test_bounds_hold_before_the_bias_too(checkpoint: Checkpoint, tmp_path: Path) -> None:
    with torch.no_grad():
        checkpoint.model.head.bias.fill_(-50.0)
    policy = uniform_policy(checkpoint.model.geometry, 5, 4)
    export_artifact(tmp_path, "small", checkpoint, policy, [pixels()])
    public, _, _ = read_server(tmp_path)
    assert public.policy.bounds.logits == 128.0
