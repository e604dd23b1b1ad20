"""Taking values out of parsed JSON: keys known, types exact, the place named in the error.

JSON of a stranger has an unknown shape; these functions are the only way it becomes typed.
The caller names the error class, since each format has errors of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path

from degreespar.errors import DegreeSparError

ErrorClass = type[DegreeSparError]


def take_object(value: object, keys: Collection[str], where: str, error: ErrorClass) -> dict[str, object]:
    """An object with exactly these keys."""
    if not isinstance(value, dict):
        raise error(f"{where} must be an object, not {_kind(value)}")
    missing = sorted(set(keys) - set(value))
    if missing:
        raise error(f"{where} lacks the key {missing[0]!r}")
    unknown = sorted(set(value) - set(keys))
    if unknown:
        raise error(f"{where} has the unknown key {unknown[0][:80]!r}")
    return value


def take_list(value: object, where: str, error: ErrorClass) -> list[object]:
    """A list of anything."""
    if not isinstance(value, list):
        raise error(f"{where} must be a list, not {_kind(value)}")
    return value


def take_int(value: object, where: str, error: ErrorClass) -> int:
    """An integer; true and false are none."""
    if type(value) is not int:
        raise error(f"{where} must be an integer, not {_kind(value)}")
    return value


def take_float(value: object, where: str, error: ErrorClass) -> float:
    """A finite number written with a point or an exponent, as this package writes real numbers."""
    if type(value) is not float or not math.isfinite(value):
        raise error(f"{where} must be a number such as 1.0, not {_kind(value)}")
    return value


def take_str(value: object, where: str, error: ErrorClass) -> str:
    """A string."""
    if not isinstance(value, str):
        raise error(f"{where} must be a string, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "an object", list: "a list", str: "a string", int: "an integer"}
    return names.get(type(value), "a number")


def read_json_file(path: Path, most_bytes: int, what: str, error: ErrorClass) -> object:
    """The parsed file, of bounded size; `what` it should be is said in errors."""
    try:
        if path.stat().st_size > most_bytes:
            raise error(f"{path} is too large to be {what}")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as failure:
        raise error(f"{path} cannot be read as {what}: {failure}") from failure
