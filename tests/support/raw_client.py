"""A client written from docs/spec/wire.md alone: it can say what the real one never would."""

from __future__ import annotations

import base64
import socket
import ssl
import struct
from pathlib import Path

from degreespar._native import Identity

GREETING = b"DGSPAR\x02\x00"


def tag(label: str) -> int:
    """FNV-1a of the label, 32 bits."""
    value = 0x811C9DC5
    for byte in label.encode():
        value = ((value ^ byte) * 0x01000193) % 2**32
    return value


def frame(label: str, payload: bytes, depth: int = 1, length: int | None = None, stream: int = 0) -> bytes:
    """A frame in one chunk; `length` may lie."""
    header = struct.pack("<IIQ", tag(label), depth, len(payload) if length is None else length)
    return chunk(header + payload, stream)


def chunk(content: bytes, stream: int = 0, kind: int = 0) -> bytes:
    """Bytes of a stream, or a grant."""
    return struct.pack("<BBHI", stream, kind, 0, len(content)) + content


def _as_openssl_reads_it(key_pem: str) -> str:
    """The same Ed25519 key in PKCS#8 version 1; ours carries its public half too, as version 2."""
    der = base64.b64decode("".join(key_pem.strip().splitlines()[1:-1]))
    seed = der.split(b"\x04\x22\x04\x20", 1)[1][:32]
    version_1 = bytes.fromhex("302e020100300506032b657004220420") + seed
    return f"-----BEGIN PRIVATE KEY-----\n{base64.b64encode(version_1).decode()}\n-----END PRIVATE KEY-----\n"


class RawClient:
    """An authenticated TLS stream, with the greetings still to be exchanged."""

    def __init__(self, address: str, identity: Identity, folder: Path) -> None:
        certificate, key = folder / "raw.crt", folder / "raw.key"
        certificate.write_text(identity.certificate_pem)
        key.write_text(_as_openssl_reads_it(identity.key_pem))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(certificate, key)
        host, port = address.rsplit(":", 1)
        self._stream = context.wrap_socket(socket.create_connection((host, int(port)), timeout=30))

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def send(self, content: bytes) -> None:
        self._stream.sendall(content)

    def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        content = b""
        while len(content) < size:
            part = self._stream.recv(size - len(content))
            if not part:
                raise ConnectionResetError("the server closed")
            content += part
        return content

    def read_frame(self) -> bytes:
        """The payload of the next frame, which is in one chunk."""
        _, kind, _, size = struct.unpack("<BBHI", self.read(8))
        content = self.read(size)
        return self.read_frame() if kind else content[16:]

    def read_to_the_end(self) -> None:
        """Whatever still comes."""
        try:
            while self._stream.recv(4096):
                pass
        except OSError:
            return
