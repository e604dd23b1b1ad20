"""One party of the peer: the same encoder layer on SPU's Cheetah. Runs in SPU's environment, not in ours.

    python spu_party.py RANK SERVER_ADDRESS CLIENT_ADDRESS TOKENS WIDTH HEADS FFN_WIDTH SQUARINGS

Rank 0 is the server, who holds the weights; rank 1 the client, who holds the layer's input. Both compute
the same functions as our program: layer norm, attention with the row maximum and (1 + z/2^n)^(2^n) cut off
at T_n, GeLU of order 4 in three segments. Settings are SPU's best for this: private inputs stay with
their owner, one division a row, truncations with an error of one bit. Prints one JSON
line on stdout at the end; SPU's own log, on stdout too, has the bytes of each run (`Link details`).
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import spu.libspu as libspu
import spu.utils.frontend as frontend
from spu import api

SERVER, CLIENT = 0, 1
FRACTION_BITS = 18
EPSILON = 1e-6
CUTOFF = -14.0
GELU_EDGE = 2.7
# Degree 4 on [0, 2.7] (methods.md, section 1), as c4*u^2 + ... with u = t^2 + (c3 / 2 c4) t.
GELU = (
    0.001620808531841547,
    -0.03798164612714154,
    0.5410550166368381,
    -0.18352506127082727,
    0.020848611754127593,
)
RECEIVE_TIMEOUT_MS = 20 * 60 * 1000

Array = Any
"""A jax array: secret where the function is compiled for SPU."""


def norm(x: Array) -> Array:
    """Layer norm without its affine part."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * (1.0 / jnp.sqrt(variance + EPSILON))


def gelu(x: Array) -> Array:
    """Three segments; the middle one by two products."""
    c0, c1, c2, c3, c4 = GELU
    negative = x < 0.0
    size = jnp.where(negative, -x, x)
    inside = size < GELU_EDGE
    shift = c3 / (2 * c4)
    squared = size * size
    u = squared + shift * size
    curve = c4 * (u * u) + (c2 - c4 * shift * shift) * squared + c1 * size + c0 + 0.5 * x
    return jnp.where(inside, curve, jnp.where(negative, 0.0, x))


def softmax(scores: Array) -> Array:
    """Over the last axis, cut off below."""
    shifted = scores - jnp.max(scores, axis=-1, keepdims=True)
    kept = shifted > CUTOFF
    weights = jnp.where(kept, jnp.exp(shifted), 0.0)
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def layer(heads: int) -> Callable[..., Array]:
    """One pre-norm encoder layer."""

    def run(x: Array, qkv: Array, projection: Array, expand: Array, contract: Array) -> Array:
        tokens, width = x.shape
        mixed = norm(x) @ qkv
        query, key, value = (
            mixed[:, i * width : (i + 1) * width].reshape(tokens, heads, width // heads).transpose(1, 0, 2)
            for i in range(3)
        )
        weights = softmax(query @ key.transpose(0, 2, 1))
        context = (weights @ value).transpose(1, 0, 2).reshape(tokens, width)
        x = x + context @ projection
        return x + gelu(norm(x) @ expand) @ contract

    return run


def warm_up(x: Array, weight: Array) -> Array:
    """Touches every kind of set-up: keys of the lattice layer, oblivious transfers, products."""
    y = x @ weight
    return jnp.where(y < 0.5, y, y * y)


class Party:
    """A link and a runtime."""

    def __init__(self, rank: int, addresses: tuple[str, str], squarings: int) -> None:
        description = libspu.link.Desc()
        for name, address in zip(("server", "client"), addresses, strict=True):
            description.add_party(name, address)
        description.recv_timeout_ms = RECEIVE_TIMEOUT_MS
        description.http_max_payload_size = 32 * 1024 * 1024
        self.rank = rank
        self.config = libspu.RuntimeConfig(
            protocol=libspu.ProtocolKind.CHEETAH, field=libspu.FieldType.FM64, fxp_fraction_bits=FRACTION_BITS
        )
        self.config.fxp_exp_iters = squarings
        self.config.experimental_enable_colocated_optimization = True
        self.config.cheetah_2pc_config.enable_mul_lsb_error = True
        self.config.enable_pphlo_profile = True
        self.runtime = api.Runtime(libspu.link.create_brpc(description, rank), self.config)
        self.io = api.Io(2, self.config)

    def give(self, name: str, value: Array, owner: int) -> None:
        """Both call this with a value of the same shape and type; only the owner's counts."""
        shares = self.io.make_shares(value, libspu.Visibility.VIS_SECRET, owner)
        self.runtime.set_var(name, shares[self.rank])

    def run(
        self, function: Callable[..., Array], names: list[str], owners: list[int], values: list[Array]
    ) -> float:
        """Compiles, hands the inputs in, and times the run alone."""
        copts = libspu.CompilerOptions()
        copts.enable_optimize_denominator_with_broadcast = True
        outputs = ["result"]
        executable, _ = frontend.compile(
            frontend.Kind.JAX,
            function,
            values,
            {},
            names,
            [libspu.Visibility.VIS_SECRET] * len(names),
            lambda flat: outputs,
            copts=copts,
        )
        for name, owner, value in zip(names, owners, values, strict=True):
            self.give(name, value, owner)
        begin = time.perf_counter()
        self.runtime.run(executable)
        return time.perf_counter() - begin


def main() -> None:
    """Warm up, then the layer."""
    rank, server, client, *sizes = sys.argv[1:]
    tokens, width, heads, ffn_width, squarings = map(int, sizes)
    party = Party(int(rank), (server, client), squarings)
    random = np.random.default_rng(1)

    def weight(rows: int, cols: int) -> Array:
        return random.normal(0, 0.02, (rows, cols)).astype(np.float32)

    set_up_s = party.run(warm_up, ["x", "w"], [CLIENT, SERVER], [weight(16, 32), weight(32, 16)])

    values = [random.normal(0, 1, (tokens, width)).astype(np.float32)]
    values += [
        weight(width, 3 * width),
        weight(width, width),
        weight(width, ffn_width),
        weight(ffn_width, width),
    ]
    owners = [CLIENT] + [SERVER] * 4
    seconds = party.run(layer(heads), ["x", "qkv", "projection", "expand", "contract"], owners, values)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    facts = {"seconds": seconds, "set_up_seconds": set_up_s, "peak_memory_bytes": peak}
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
