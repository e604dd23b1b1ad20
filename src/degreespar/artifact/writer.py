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
    TABLE_FILE,
    digest_of,
    write_atomic,
)
from degreespar.artifact.parts import Client, Digests, PublicPart, check_client
from degreespar.artifact.tensors import tensors_to_bytes
from degreespar.artifact.text_part import TextPart


def write_artifact(
    directory: Path,
    public: PublicPart,
    client: Client,
    tensors: Mapping[str, NDArray[np.generic]],
) -> str:
    """Writes all files and returns the artifact's digest, SHA-256 of public.json.

    public.json comes last: with none, or an old one, a half-written artifact is refused.
    """
    check_client(client, public.geometry)
    server_bytes = tensors_to_bytes(tensors, public.weights)
    client_bytes = canonical_bytes(client.to_json())
    table_bytes = client.table_bytes() if isinstance(client, TextPart) else None
    digests = Digests(
        client=digest_of(client_bytes),
        server=digest_of(server_bytes),
        table=None if table_bytes is None else digest_of(table_bytes),
    )
    public_bytes = canonical_bytes(public.to_json(digests))
    write_atomic(directory / SERVER_FILE, server_bytes)
    write_atomic(directory / CLIENT_FILE, client_bytes)
    if table_bytes is not None:
        write_atomic(directory / TABLE_FILE, table_bytes)
    write_atomic(directory / PUBLIC_FILE, public_bytes)
    return digest_of(public_bytes)
