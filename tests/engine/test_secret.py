"""A secret cannot be looked at."""

import operator

import numpy as np
import pytest

from degreespar.engine.secret import Secret, SecretBits, SecretError

SECRETS = [
    Secret(np.arange(6, dtype=np.uint64).reshape(2, 3), bits=20, frac_bits=12, bound=8.0),
    SecretBits(np.ones((2, 3), dtype=np.uint8)),
]
LOOKS = [
    bool,
    int,
    float,
    iter,
    len,
    operator.index,
    np.asarray,
    lambda secret: secret == 1,
    lambda secret: secret != 1,
    lambda secret: secret < 1,
    lambda secret: secret >= 1,
    lambda secret: secret[0],
    lambda secret: 1 in secret,
]


@pytest.mark.parametrize("secret", SECRETS, ids=type)
@pytest.mark.parametrize("look", LOOKS)
def test_every_look_raises(secret: object, look: object) -> None:
    with pytest.raises(SecretError):
        look(secret)  # type: ignore[operator]


def test_repr_shows_shape_and_ring_only() -> None:
    assert repr(SECRETS[0]) == "Secret(shape=(2, 3), bits=20, frac_bits=12)"
    assert repr(SECRETS[1]) == "SecretBits(shape=(2, 3))"


@pytest.mark.parametrize("secret", SECRETS, ids=type)
def test_a_secret_is_not_hashable(secret: object) -> None:
    with pytest.raises(TypeError):
        hash(secret)
