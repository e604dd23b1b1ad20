"""The files on disk: bounded reading, atomic writing, digests."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from degreespar.artifact.errors import FileTooLargeError, UnreadableFileError, WriteFailedError

PUBLIC_FILE = "public.json"
CLIENT_FILE = "client.json"
TABLE_FILE = "client.safetensors"
SERVER_FILE = "server.safetensors"

MAX_PUBLIC_BYTES = 64 << 20
MAX_CLIENT_BYTES = 64 << 10
MAX_TEXT_CLIENT_BYTES = 16 << 20
"""Room for a vocabulary."""


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """The file's bytes. Its size is looked at first, so that no file can fill the memory."""
    try:
        # A pipe or a device would block or never end, hence the look before opening.
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableFileError(f"{path} is not a regular file")
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > max_bytes:
                raise FileTooLargeError(f"{path} is larger than the {max_bytes} bytes it may have")
            # A file that grows meanwhile is cut off here, and refused by its digest or as no JSON.
            return file.read(max_bytes)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableFileError(f"{path} cannot be read: {reason}") from error


def write_atomic(path: Path, content: bytes) -> None:
    """Writes beside the file and renames, so that a crash leaves the old file or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WriteFailedError(f"{path} cannot be written: {reason}") from error


def digest_of(content: bytes) -> str:
    """The file's identity: SHA-256 in lower-case hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
