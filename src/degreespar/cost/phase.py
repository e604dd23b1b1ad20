"""Predicted seconds of one phase of a window.

The native core declares a phase stage by stage (a stage begins when the one before has ended at both
parties), with bytes each way and units of work. With a table's prices p of the units and a line of rates
r_down, r_up (full duplex) and round trip R:

    cpu    = sum of p * amount over the units of the stage, its bytes among them, both parties
    work   = cpu / cores that the stage keeps busy
    line   = max(bytes to the client / r_down, bytes to the server / r_up)
    stage  = max(work, line) in a preparation: many messages, each sent as soon as it is made
    stage  = work + line in an answer: every message waits for the one before it
    phase  = sum of its stages + flips * (R / 2 + a flip's own seconds)

That both parties share the cores when they run on one machine is in the busy cores, measured so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from degreespar._native import Declared
from degreespar.degree.errors import PriceError
from degreespar.degree.price_table import BYTE, NO_LINE, Line, PriceTable, Units

ANSWER = "answer"
BITS = 8


@dataclass(frozen=True)
class Estimate:
    """Of a phase: predicted seconds, and the bytes and flips that are declared."""

    seconds: float = 0.0
    work_s: float = 0.0
    """What the machines alone would take, with no line between them."""
    line_s: float = 0.0
    """What the line alone would take for the bytes, with machines of no delay."""
    server_cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    to_client_bytes: int = 0
    to_server_bytes: int = 0
    flips: int = 0

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.seconds + other.seconds,
            self.work_s + other.work_s,
            self.line_s + other.line_s,
            self.server_cpu_s + other.server_cpu_s,
            self.client_cpu_s + other.client_cpu_s,
            self.to_client_bytes + other.to_client_bytes,
            self.to_server_bytes + other.to_server_bytes,
            self.flips + other.flips,
        )


def flips_of(declared: Declared) -> int:
    """The larger of the two parties' figures is the run's."""
    return max(declared.server_flips, declared.client_flips)


def stage_units(to_client_bytes: int, to_server_bytes: int, work: Mapping[str, int]) -> dict[str, int]:
    """All units of a stage."""
    passed = to_client_bytes + to_server_bytes
    return {**work, BYTE: passed} if passed else dict(work)


def phase_units(declared: Declared) -> dict[str, int]:
    """All units of a phase."""
    units: dict[str, int] = {}
    for _, down, up, work in declared.stages:
        for unit, amount in stage_units(down, up, work).items():
            units[unit] = units.get(unit, 0) + amount
    return units


def estimate_phase(declared: Declared, table: PriceTable, line: Line | None) -> Estimate:
    """See above; no line: the machines alone."""
    flips = flips_of(declared)
    work_s = flips * table.flip_s
    seconds = work_s + delay_seconds(line, flips)
    cpu, all_line_s = (0.0, 0.0), 0.0
    for name, down, up, work in declared.stages:
        units, prices = stage_units(down, up, work), units_of(table, name)
        server_s, client_s = cpu_seconds(prices, units)
        stage_work_s = (server_s + client_s) / table.busy_cores[name]
        line_s = line_seconds(line, down, up)
        seconds += stage_work_s + line_s if name == ANSWER else max(stage_work_s, line_s)
        work_s += stage_work_s
        all_line_s += line_s
        cpu = (cpu[0] + server_s, cpu[1] + client_s)
    return Estimate(
        seconds, work_s, all_line_s, *cpu, declared.to_client_bytes, declared.to_server_bytes, flips
    )


def delay_seconds(line: Line | None, flips: int) -> float:
    """One way for each flip."""
    return 0.0 if line is None or line.name == NO_LINE else flips * line.round_trip_s / 2


def line_seconds(line: Line | None, to_client_bytes: int, to_server_bytes: int) -> float:
    """Until the last byte has left, both ways at once."""
    if line is None or line.name == NO_LINE:
        return 0.0
    down_s = BITS * to_client_bytes / line.to_client_bits_per_second
    return max(down_s, BITS * to_server_bytes / line.to_server_bits_per_second)


def units_of(table: PriceTable, stage: str) -> Units:
    """The prices of its phase."""
    return table.answer if stage == ANSWER else table.prepare


def cpu_seconds(prices: Units, units: Mapping[str, int]) -> tuple[float, float]:
    """Of the server and of the client."""
    missing = sorted(set(units) - set(prices))
    if missing:
        raise PriceError(
            f"the price table has no price for {missing[0]!r}: measure one by `degreespar price`"
        )
    server_s = sum(amount * prices[unit].server_cpu_s for unit, amount in units.items())
    return server_s, sum(amount * prices[unit].client_cpu_s for unit, amount in units.items())
