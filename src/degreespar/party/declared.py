"""What a whole run will send and do, window by window and phase by phase, before it starts."""

from dataclasses import dataclass

from degreespar._native import Declared, Forecast
from degreespar.party.demand import Demand


@dataclass(frozen=True)
class DeclaredWindow:
    """Both phases of a window."""

    name: str
    prepare: Declared
    answer: Declared


def declare(
    demand: Demand, just_in_time: bool, forecast: Forecast | None = None
) -> tuple[DeclaredWindow, ...]:
    """One answer: each window prepared when it begins, or all of them ahead.

    `forecast` is where the session stands: None for its first answer, as the same forecast's next for the
    next. Bytes are exact in every session. Flips are, where the connection carried nothing before the
    session; a handshake can move a window's by one.
    """
    forecast = forecast or Forecast()
    plans = [window.plan for window in demand.windows]
    if just_in_time:
        phases = [(forecast.prepare(plan), forecast.answer(plan)) for plan in plans]
    else:
        prepared = [forecast.prepare(plan) for plan in plans]
        phases = [(made, forecast.answer(plan)) for made, plan in zip(prepared, plans, strict=True)]
    names = (window.name for window in demand.windows)
    return tuple(DeclaredWindow(name, *both) for name, both in zip(names, phases, strict=True))
