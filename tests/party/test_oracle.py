"""The clear engine over a whole model, against the same model in floating point."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from degreespar.artifact import PublicPart, read_server
from degreespar.party.oracle import Oracle
from tests.support.made_artifact import GEOMETRY, made_artifact, policy

Array = np.ndarray


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    made_artifact(tmp_path, degrees=policy(squarings=6))
    public, tensors, _ = read_server(tmp_path)
    return Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})


def _patches(count: int) -> Array:
    return np.random.default_rng(3).integers(-8192, 8193, (count, GEOMETRY.patches, GEOMETRY.patch_values))


def test_scores_are_those_of_the_real_valued_model(oracle: Oracle) -> None:
    patches = _patches(6)
    expected = np.stack([_float_scores(oracle, picture / 4096.0) for picture in patches])
    scores = oracle.scores(patches)
    assert np.abs(scores - expected).max() < 0.1
    assert np.ptp(expected) > 1.0  # the bound above means something


def test_batches_and_processes_do_not_change_answers(oracle: Oracle) -> None:
    patches = _patches(5)
    told: list[tuple[int, int]] = []
    scores = oracle.scores_in_batches(patches, 2, 2, lambda done, count: told.append((done, count)))
    assert np.array_equal(scores, oracle.scores(patches))
    assert told == [(2, 5), (4, 5), (5, 5)]


def _float_scores(oracle: Oracle, patches: Array) -> Array:
    public = oracle.public
    x = np.concatenate([np.zeros((1, public.geometry.width)), patches @ _real(oracle, "patch.weight")])
    x = x + _real(oracle, "embedding.bias")
    for layer in range(public.geometry.layers):
        x = _float_layer(oracle, public, x, layer)
    return _linear(oracle, _norm(x), "head")[0]


def _float_layer(oracle: Oracle, public: PublicPart, x: Array, layer: int) -> Array:
    prefix, heads = f"layers.{layer}", public.geometry.heads
    query, key, value = np.split(_linear(oracle, _norm(x), f"{prefix}.query_key_value"), 3, axis=1)
    context = np.concatenate(
        [
            _softmax(q @ k.T) @ v
            for q, k, v in zip(*(np.split(part, heads, axis=1) for part in (query, key, value)), strict=True)
        ],
        axis=1,
    )
    x = x + _linear(oracle, context, f"{prefix}.projection")
    hidden = _linear(oracle, _norm(x), f"{prefix}.expand")
    orders = public.policy.layers[layer].gelu_orders.values
    return x + _linear(oracle, _gelu(hidden, orders), f"{prefix}.contract")


def _gelu(hidden: Array, orders: Array) -> Array:
    exact = hidden * 0.5 * (1.0 + np.vectorize(math.erf)(hidden / math.sqrt(2.0)))
    return np.where(orders == 0, 0.0, np.where(orders == 1, np.maximum(hidden, 0.0), exact))


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _norm(x: Array) -> Array:
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(
        x.var(axis=1, keepdims=True) + GEOMETRY.layer_norm_eps
    )


def _real(oracle: Oracle, name: str) -> Array:
    return oracle.tensors[name] / 2.0 ** oracle.public.weight(name).frac_bits


def _linear(oracle: Oracle, x: Array, name: str) -> Array:
    return x @ _real(oracle, f"{name}.weight") + _real(oracle, f"{name}.bias")
