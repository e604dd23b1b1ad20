"""Writing an artifact: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from degreespar.artifact.canonical import canonical_bytes
from degreespar.artifact.files import (
    CLIENT_FILE,
    PUBLIC_FILE,
    SERVER_FILE,
    digest_of,
    write_atomic,
)
from degreespar.artifact.parts import ClientPart, Digests, PublicPart, check_channels
from degreespar.artifact.tensors import tensors_to_bytes


def write_artifact(
    directory: Path,
    public: PublicPart,
    client: ClientPart,
    tensors: Mapping[str, NDArray[np.generic]],
) -> str:
    """Writes the three files and returns the artifact's digest, SHA-256 of public.json.

    public.json comes last: with none, or an old one, a half-written artifact is refused.
    """
    check_channels(client, public.geometry)
    server_bytes = tensors_to_bytes(tensors, public.weights)
    client_bytes = canonical_bytes(client.to_json())
    digests = Digests(client=digest_of(client_bytes), server=digest_of(server_bytes))
    public_bytes = canonical_bytes(public.to_json(digests))
    write_atomic(directory / SERVER_FILE, server_bytes)
    write_atomic(directory / CLIENT_FILE, client_bytes)
    write_atomic(directory / PUBLIC_FILE, public_bytes)
    return digest_of(public_bytes)
