"""A measured price list of one pair of machines: what `degreespar price` writes.

Prices are put on the units of work that the native core declares for each phase of a window (made COTs,
leaves, ciphertexts, ...; `Declared.stages`), beside the unit `byte` (sent by one party to the other).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from degreespar.degree.errors import PriceError
from degreespar.degree.prices import Prices
from degreespar.degree.strict_json import read_json_file, take_float, take_list, take_object, take_str

FORMAT = "degreespar prices 1"
DEFAULT_FILE = Path(__file__).with_name("default_prices.json")
MAX_BYTES = 1 << 20
BYTE = "byte"
NO_LINE = "none"
"""Both parties on one machine, as it is: no line is waited for."""


@dataclass(frozen=True)
class UnitPrice:
    """Of one unit of work: processor seconds of each party."""

    server_cpu_s: float
    client_cpu_s: float

    def __post_init__(self) -> None:
        for value in asdict(self).values():
            _check_seconds(value)

    @property
    def cpu_s(self) -> float:
        """Of both."""
        return self.server_cpu_s + self.client_cpu_s


@dataclass(frozen=True)
class Line:
    """The line between the two machines, as it was measured."""

    name: str
    to_client_bits_per_second: float
    to_server_bits_per_second: float
    round_trip_s: float

    def __post_init__(self) -> None:
        rates = (self.to_client_bits_per_second, self.to_server_bits_per_second)
        if not all(math.isfinite(rate) and rate > 0 for rate in rates):
            raise PriceError(f"the line {self.name} must have a rate above zero each way")
        if not (math.isfinite(self.round_trip_s) and self.round_trip_s >= 0):
            raise PriceError(f"the line {self.name} must have a round trip from 0 s up")


Units = Mapping[str, UnitPrice]
STAGES = ("request", "ots", "gilboa", "reply", "answer")
"""Of the native core: parts of a phase that begin when the one before has ended at both parties."""


@dataclass(frozen=True)
class PriceTable:
    """Prices by phase and unit, where and when they were measured, and prices of policies made of them."""

    server: str
    client: str
    commit: str
    when: str
    line: Line
    busy_cores: Mapping[str, float]
    """By stage: processor seconds of both parties for each second of the clock, while no line is waited for.
    How well work spreads over cores, and that parties on one machine share them, is in it."""
    flip_s: float
    """Of a flip, beside the line's own delay: waking up, system calls."""
    prepare: Units
    answer: Units
    policy: Mapping[str, Prices]
    """By the name of a network: seconds of each unit of a policy's work."""

    def __post_init__(self) -> None:
        for name in ("busy_cores", "prepare", "answer", "policy"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        _check_seconds(self.flip_s)
        if set(self.busy_cores) != set(STAGES):
            raise PriceError(f"busy_cores must name the stages {', '.join(STAGES)}")
        for stage, cores in self.busy_cores.items():
            if not (math.isfinite(cores) and cores > 0):
                raise PriceError(f"the stage {stage} must keep cores busy, not {cores!r}")
        if BYTE not in self.prepare or BYTE not in self.answer:
            raise PriceError("a price table must price the unit byte in both phases")

    def to_json(self) -> dict[str, object]:
        """For the file."""
        return {
            "format": FORMAT,
            **{name: getattr(self, name) for name in _WORDS},
            "line": asdict(self.line),
            "busy_cores": dict(self.busy_cores),
            "flip_s": self.flip_s,
            **{name: {u: asdict(p) for u, p in getattr(self, name).items()} for name in _PHASES},
            "policy": {name: _policy_json(prices) for name, prices in self.policy.items()},
        }

    @classmethod
    def from_json(cls, value: object) -> PriceTable:
        """Reads what `to_json` wrote; anything else is a PriceError that names the place."""
        names = ("format", *_WORDS, "line", "busy_cores", "flip_s", *_PHASES, "policy")
        parts = take_object(value, names, "prices", PriceError)
        if parts["format"] != FORMAT:
            raise PriceError(f"this is no file of the format {FORMAT!r}")
        # Any: keyword arguments of several types
        words: dict[str, Any] = {name: take_str(parts[name], f"prices.{name}", PriceError) for name in _WORDS}
        phases: dict[str, Any] = {name: _read_units(parts[name], f"prices.{name}") for name in _PHASES}
        policy = {
            name: _read_policy(name, prices, f"prices.policy.{name}")
            for name, prices in _mapping(parts["policy"], "prices.policy").items()
        }
        return cls(
            **words,
            line=_read_line(parts["line"]),
            busy_cores=_floats(parts["busy_cores"], STAGES, "prices.busy_cores"),
            flip_s=take_float(parts["flip_s"], "prices.flip_s", PriceError),
            policy=policy,
            **phases,
        )


_WORDS = ("server", "client", "commit", "when")
_PHASES = ("prepare", "answer")


def read_prices(path: Path) -> PriceTable:
    """From a file."""
    value = read_json_file(path, MAX_BYTES, "a price table", PriceError)
    try:
        return PriceTable.from_json(value)
    except PriceError as error:
        raise PriceError(f"{path}: {error}") from error


def write_prices(table: PriceTable, path: Path) -> None:
    """To a file."""
    text = json.dumps(table.to_json(), indent=1, allow_nan=False)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise PriceError(f"cannot write {path}: {error.strerror}") from error


@cache
def default_prices() -> PriceTable:
    """The table that comes with the package; its `server` and `when` say where it was measured."""
    return read_prices(DEFAULT_FILE)


def _check_seconds(value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise PriceError(f"a price must be a number of seconds from 0 up, not {value!r}")


def _mapping(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise PriceError(f"{where} must be an object")
    return value


def _floats(value: object, names: tuple[str, ...], where: str) -> dict[str, float]:
    parts = take_object(value, names, where, PriceError)
    return {name: take_float(parts[name], f"{where}.{name}", PriceError) for name in names}


def _read_units(value: object, where: str) -> dict[str, UnitPrice]:
    names = tuple(field.name for field in fields(UnitPrice))
    return {
        unit: UnitPrice(**_floats(price, names, f"{where}.{unit}"))
        for unit, price in _mapping(value, where).items()
    }


def _read_line(value: object) -> Line:
    names = tuple(field.name for field in fields(Line) if field.name != "name")
    parts = take_object(value, ("name", *names), "prices.line", PriceError)
    numbers = {name: take_float(parts[name], f"prices.line.{name}", PriceError) for name in names}
    return Line(take_str(parts["name"], "prices.line.name", PriceError), **numbers)


_LADDERS = ("softmax_s", "gelu_s")
_SINGLE = tuple(field.name for field in fields(Prices) if field.name not in ("name", *_LADDERS))


def _policy_json(prices: Prices) -> dict[str, object]:
    ladders = {name: [list(pair) for pair in getattr(prices, name).items()] for name in _LADDERS}
    return {**ladders, **{name: getattr(prices, name) for name in _SINGLE}}


def _read_policy(name: str, value: object, where: str) -> Prices:
    parts = take_object(value, (*_LADDERS, *_SINGLE), where, PriceError)
    ladders: dict[str, Any] = {key: _read_ladder(parts[key], f"{where}.{key}") for key in _LADDERS}
    single: dict[str, Any] = {key: take_float(parts[key], f"{where}.{key}", PriceError) for key in _SINGLE}
    return Prices(name=f"measured {name}", **ladders, **single)


def _read_ladder(value: object, where: str) -> dict[int, float]:
    ladder = {}
    for pair in take_list(value, where, PriceError):
        state, seconds = (*take_list(pair, where, PriceError), None, None)[:2]
        if type(state) is not int:
            raise PriceError(f"{where} must be pairs of a state and seconds")
        ladder[state] = take_float(seconds, where, PriceError)
    return ladder
