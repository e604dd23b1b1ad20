"""When windows are prepared: the client chooses, both parties keep to it."""

from dataclasses import dataclass
from enum import Enum

WINDOWS_HELD = 2
"""How many windows an overlapping run holds unless it is told otherwise: the one in use and the next."""

MAX_WINDOWS_HELD = 10_000


class Mode(str, Enum):
    """When the windows of an answer are prepared."""

    AHEAD = "ahead"
    """All before the answer begins: the shortest wait once the input is there, the most memory."""
    OVERLAP = "overlap"
    """The next ones while one is in use, and the next answer's first ones while this answer ends."""
    JUST_IN_TIME = "just-in-time"
    """Each when it begins, strictly in turn: the least memory, every phase undisturbed by the other."""

    def windows_held(self, windows: int, overlapping: int = WINDOWS_HELD) -> int:
        """The most windows that either party holds at once, where an answer has so many."""
        if self is Mode.OVERLAP:
            return overlapping
        return windows if self is Mode.AHEAD else 1


@dataclass(frozen=True)
class Pace:
    """What a run's preparation keeps to."""

    mode: Mode
    windows_held: int
    """The bound on windows in making, ready and in use, all together."""
    answers: int = 1
    """Nothing is prepared beyond so many."""
    idle_s: float = 60.0
    """How long a server waits for its client to begin the next answer."""
