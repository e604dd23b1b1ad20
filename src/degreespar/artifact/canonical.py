"""Canonical JSON: one text for one value, so that the bytes' digest identifies the content."""

from __future__ import annotations

import json
from typing import NoReturn

from degreespar.artifact.errors import NotCanonicalError, NotJsonError, WrongFormatError, WrongVersionError

VERSION = 3
PUBLIC_FORMAT = "degreespar-artifact"
CLIENT_FORMAT = "degreespar-client"


def canonical_bytes(value: object) -> bytes:
    """Sorted keys, no spaces, ASCII with escapes, shortest decimals, one newline at the end."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def parse_canonical(content: bytes, format_name: str, where: str) -> dict[str, object]:
    """The JSON object in `content`, which must name the format, have the version and be canonical.

    Format and version come first: they tell that a file is of another kind or from another time.
    """
    value = _parse(content, where)
    if not isinstance(value, dict) or value.get("format") != format_name:
        raise WrongFormatError(f'{where} is not of the format "{format_name}"')
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        shown = version if type(version) is int and abs(version) < 10**9 else "an unknown one"
        raise WrongVersionError(f"{where} has version {shown}, but this program reads version {VERSION}")
    try:
        same = canonical_bytes(value) == content
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise NotCanonicalError(f"{where} is not in canonical form: it was edited or written by others")
    return value


def _parse(content: bytes, where: str) -> object:
    try:
        parsed: object = json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(f"{where} is not JSON: it is damaged or no such file") from error
    return parsed


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
