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


def declare(demand: Demand, forecast: Forecast | None = None) -> tuple[DeclaredWindow, ...]:
    """One answer, exactly; its two phases pass on streams of their own: how they interleave changes nothing.

    `forecast` is where the session stands: None for its first answer, the same forecast again for the next.
    """
    forecast = forecast or Forecast()
    forecast.begin_answer()
    return tuple(
        DeclaredWindow(window.name, forecast.prepare(window.plan), forecast.answer(window.plan))
        for window in demand.windows
    )
