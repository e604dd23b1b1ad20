"""Reading an artifact, by role: each reads only what it may hold, and checks all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from degreespar.artifact.bert_geometry import BertGeometry
from degreespar.artifact.canonical import CLIENT_FORMAT, PUBLIC_FORMAT, parse_canonical
from degreespar.artifact.errors import (
    ClientDigestMismatchError,
    ServerDigestMismatchError,
    TableDigestMismatchError,
)
from degreespar.artifact.files import (
    CLIENT_FILE,
    MAX_CLIENT_BYTES,
    MAX_PUBLIC_BYTES,
    MAX_TEXT_CLIENT_BYTES,
    PUBLIC_FILE,
    SERVER_FILE,
    TABLE_FILE,
    digest_of,
    read_bounded,
)
from degreespar.artifact.parts import (
    Client,
    Digests,
    PublicPart,
    check_client,
    client_from_json,
    public_from_json,
)
from degreespar.artifact.tensors import MAX_HEADER_BYTES, tensors_from_bytes
from degreespar.artifact.text_part import LARGEST_ITEM_BYTES, Table, TextPart, table_from_bytes


def read_public(directory: Path) -> tuple[PublicPart, str]:
    """The public part and the artifact's digest."""
    public, _, digest = _read_public_file(directory)
    return public, digest


def read_client(directory: Path) -> tuple[PublicPart, Client, str]:
    """The public part, the client's part and the artifact's digest; weights are not looked for."""
    public, digests, digest = _read_public_file(directory)
    path = directory / CLIENT_FILE
    is_text = isinstance(public.geometry, BertGeometry)
    content = read_bounded(path, MAX_TEXT_CLIENT_BYTES if is_text else MAX_CLIENT_BYTES)
    if digest_of(content) != digests.client:
        raise ClientDigestMismatchError(f"{path} was changed or belongs to another {PUBLIC_FILE}")
    client = client_from_json(parse_canonical(content, CLIENT_FORMAT, str(path)), public.geometry)
    check_client(client, public.geometry)
    if isinstance(client, TextPart) and digests.table is not None:
        client = replace(client, table=_read_table(directory / TABLE_FILE, digests.table, public))
    return public, client, digest


def _read_table(path: Path, digest: str, public: PublicPart) -> Table:
    geometry = public.texts
    largest = geometry.table_rows * geometry.width * LARGEST_ITEM_BYTES
    content = read_bounded(path, largest + MAX_HEADER_BYTES)
    if digest_of(content) != digest:
        raise TableDigestMismatchError(f"{path} was changed or belongs to another {PUBLIC_FILE}")
    return table_from_bytes(content, geometry, str(path))


def read_server(directory: Path) -> tuple[PublicPart, dict[str, NDArray[np.generic]], str]:
    """The public part, the weights by name and the artifact's digest."""
    public, digests, digest = _read_public_file(directory)
    path = directory / SERVER_FILE
    content = read_bounded(path, public.weights_bytes + MAX_HEADER_BYTES)
    if digest_of(content) != digests.server:
        raise ServerDigestMismatchError(f"{path} was changed or belongs to another {PUBLIC_FILE}")
    return public, tensors_from_bytes(content, public.weights, str(path)), digest


def _read_public_file(directory: Path) -> tuple[PublicPart, Digests, str]:
    path = directory / PUBLIC_FILE
    content = read_bounded(path, MAX_PUBLIC_BYTES)
    public, digests = public_from_json(parse_canonical(content, PUBLIC_FORMAT, str(path)))
    return public, digests, digest_of(content)
