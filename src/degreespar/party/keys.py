"""A party's identity on disk, and whom it trusts.

An identity is a folder with a self-signed certificate (given to the peer) and its private key (never
given to anyone). Trust is by certificate, not by name: nobody else vouches for anybody.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from degreespar._native import Identity, fingerprint_of_pem
from degreespar.artifact.files import read_bounded
from degreespar.errors import DegreeSparError
from degreespar.party.errors import IdentityFileError
from degreespar.party.native import native_errors

CERTIFICATE_FILE = "identity.crt"
KEY_FILE = "identity.key"
MAX_PEM_BYTES = 64 << 10
MAX_NAME_LENGTH = 64
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def make_identity(folder: Path, name: str) -> str:
    """Writes a fresh identity into the folder and returns its fingerprint; never overwrites one."""
    if not (1 <= len(name) <= MAX_NAME_LENGTH and name.isprintable()):
        raise IdentityFileError(f"an identity's name has 1..{MAX_NAME_LENGTH} printable characters")
    for path in (folder / CERTIFICATE_FILE, folder / KEY_FILE):
        if path.exists():
            raise IdentityFileError(f"{path} exists already: identities are never overwritten")
    with native_errors():
        identity = Identity.generate(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _all_or_none() as write:
            write(folder / KEY_FILE, identity.key_pem, 0o600)
            write(folder / CERTIFICATE_FILE, identity.certificate_pem, 0o644)
    except OSError as error:
        raise IdentityFileError(f"cannot write an identity to {folder}: {error.strerror}") from error
    return identity.fingerprint


def load_identity(folder: Path) -> Identity:
    """The identity in the folder; a key that others may read is refused."""
    key_path = folder / KEY_FILE
    certificate, key = _read(folder / CERTIFICATE_FILE), _read(key_path)
    if os.name == "posix" and stat.S_IMODE(key_path.stat().st_mode) & 0o077:
        raise IdentityFileError(f"{key_path} can be read by others: chmod 600 it, or make new keys")
    with native_errors():
        return Identity.from_pem(certificate, key)


def load_trusted(paths: Sequence[Path]) -> list[str]:
    """The fingerprints of all certificates in the files."""
    fingerprints = []
    for path in paths:
        certificates = _CERTIFICATE.findall(_read(path))
        if not certificates:
            raise IdentityFileError(f"{path} holds no certificate in PEM form")
        with native_errors():
            fingerprints += [fingerprint_of_pem(certificate) for certificate in certificates]
    if not fingerprints:
        raise IdentityFileError("nobody is trusted: name at least one certificate of a peer")
    return fingerprints


@contextmanager
def _all_or_none() -> Iterator[Callable[[Path, str, int], None]]:
    """Writes new files; if one fails, those that were written are gone again."""
    written: list[Path] = []

    def write(path: Path, text: str, mode: int) -> None:
        # The mode is given at creation: there is no moment in which others can read the key.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        written.append(path)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    try:
        yield write
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise


def _read(path: Path) -> str:
    try:
        return read_bounded(path, MAX_PEM_BYTES).decode("ascii")
    except UnicodeDecodeError as error:
        raise IdentityFileError(f"{path} is no PEM file") from error
    except DegreeSparError as error:
        raise IdentityFileError(str(error)) from error
