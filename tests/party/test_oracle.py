"""The clear engine over a whole model, against the same model in floating point."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from degreespar.artifact import PublicPart, read_server
from degreespar.degree import Selection
from degreespar.party.oracle import Oracle
from tests.program.selection.oracle import kept
from tests.support.made_artifact import GEOMETRY, made_artifact, policy, selecting_policy

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


def test_a_model_that_selects_tokens_keeps_those_of_the_real_valued_one(tmp_path: Path) -> None:
    made_artifact(tmp_path, degrees=selecting_policy())
    public, tensors, _ = read_server(tmp_path)
    oracle = Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    patches = _patches(12)
    expected = np.stack([_float_scores(oracle, picture / 4096.0) for picture in patches])
    assert np.abs(oracle.scores(patches) - expected).max() < 0.1
    # Which tokens stay matters: the least significant ones give other scores.
    others = np.stack([_float_scores(oracle, picture / 4096.0, sign=-1.0) for picture in patches])
    assert np.abs(oracle.scores(patches) - others).max() > 0.3


def test_batches_and_processes_do_not_change_answers(oracle: Oracle) -> None:
    patches = _patches(5)
    told: list[tuple[int, int]] = []
    done = oracle.simulate_in_batches(patches, 2, 2, lambda done, count: told.append((done, count)))
    assert np.array_equal(done.scores, oracle.scores(patches))
    assert done.saturations == oracle.simulate(patches).saturations
    assert told == [(2, 5), (4, 5), (5, 5)]


def _float_scores(oracle: Oracle, patches: Array, sign: float = 1.0) -> Array:
    public = oracle.public
    x = np.concatenate([np.zeros((1, public.geometry.width)), patches @ _real(oracle, "patch.weight")])
    x = x + _real(oracle, "embedding.bias")
    for layer in range(public.geometry.layers):
        x = _float_layer(oracle, public, x, layer, sign)
    return _linear(oracle, _norm(x), "head")[0]


def _float_layer(oracle: Oracle, public: PublicPart, x: Array, layer: int, sign: float) -> Array:
    prefix, heads = f"layers.{layer}", public.geometry.heads
    query, key, value = np.split(_linear(oracle, _norm(x), f"{prefix}.query_key_value"), 3, axis=1)
    split = [np.split(part, heads, axis=1) for part in (query, key, value)]
    weights = [_softmax(q @ k.T) for q, k in zip(split[0], split[1], strict=True)]
    context = np.concatenate([w @ v for w, v in zip(weights, split[2], strict=True)], axis=1)
    variance = x.var(axis=1) + public.geometry.layer_norm_eps
    x = x + _linear(oracle, context, f"{prefix}.projection")
    selection = public.policy.layers[layer].selection
    if selection is not None:
        x = x[_kept(variance, np.mean([w[0] for w in weights], axis=0), selection, sign)]
    hidden = _linear(oracle, _norm(x), f"{prefix}.expand")
    orders = public.policy.layers[layer].gelu_orders.values
    return x + _linear(oracle, _gelu(hidden, orders), f"{prefix}.contract")


def _kept(variance: Array, attention: Array, selection: Selection, sign: float) -> list[int]:
    spread, paid = variance[1:], attention[1:]
    scores = selection.alpha * spread / spread.mean() + (1 - selection.alpha) * paid / paid.mean()
    return [0, *(i + 1 for i in kept(list(sign * scores), selection.ranges))]


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
