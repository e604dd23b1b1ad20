"""One encoder layer, or a whole model, of a published shape: both parties as two real processes.

The model is made: random weights, the bounds of a trained one. A layer is measured as the first of two
(of the last layer only [CLS] is computed), prepared just in time, every kind of work apart.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from degreespar.artifact import PublicPart, VitGeometry
from degreespar.bench.made_model import made_policy, made_public, write_made_model, write_noise_picture
from degreespar.bench.namespaces import Place
from degreespar.bench.processes import Done, Pair, Say
from degreespar.engine.trace import PART_SEPARATOR
from degreespar.party.pace import Mode
from degreespar.party.report import Cost, total

SEED = 2026
DEADLINE_S = 600.0
MEASURED_LAYER = "layer 1"
PHASES = ("prepare", "answer")


@dataclass(frozen=True)
class Measured:
    """Costs by kind of work and phase, as the client saw them, and the memory of both processes."""

    kinds: Mapping[str, Mapping[str, Cost]]
    waited_s: float
    """What the answer waited for preparation: all of its seconds, or what did not run beside an answer."""
    client_peak_bytes: int
    server_peak_bytes: int

    def phase(self, name: str) -> Cost:
        """All kinds of one phase."""
        return total(kind[name] for kind in self.kinds.values())

    @property
    def total(self) -> Cost:
        """Both phases; of the preparation's seconds those that the answer waited for."""
        both = total(self.phase(name) for name in PHASES)
        return replace(both, seconds=self.phase("answer").seconds + self.waited_s)

    def metrics(self) -> dict[str, object]:
        """For a row."""
        return {
            **{f"total_{key}": value for key, value in asdict(self.total).items()},
            **{f"{name}_{key}": value for name in PHASES for key, value in asdict(self.phase(name)).items()},
            "client_peak_memory_bytes": self.client_peak_bytes,
            "server_peak_memory_bytes": self.server_peak_bytes,
            "kinds": {
                kind: {name: asdict(cost) for name, cost in costs.items()}
                for kind, costs in self.kinds.items()
            },
        }


@dataclass(frozen=True)
class Setting:
    """What is run, and where."""

    name: str
    geometry: VitGeometry
    squarings: int
    gelu_order: int
    places: tuple[Place, Place]

    def public(self) -> PublicPart:
        """The made model's public part."""
        policy = made_policy(self.geometry, self.squarings, self.gelu_order)
        return made_public(self.name, self.geometry, policy)

    @property
    def layer(self) -> "Setting":
        """The same with the two layers that measuring one takes."""
        return replace(self, geometry=replace(self.geometry, ffn_widths=self.geometry.ffn_widths[:2]))


def measure_layer(setting: Setting, say: Say) -> Measured:
    """One layer."""
    done = _run(setting.layer, ("--mode", Mode.JUST_IN_TIME.value, "--by-kind"), say)
    return _measured(done, [w for w in _windows(done) if _window_and_kind(w)[0] == MEASURED_LAYER])


def measure_model(setting: Setting, say: Say, mode: Mode, windows_held: int) -> Measured:
    """A whole answer."""
    done = _run(setting, ("--mode", mode.value, "--windows", str(windows_held)), say)
    return _measured(done, _windows(done))


def _run(setting: Setting, options: Sequence[str], say: Say) -> Done:
    geometry = setting.geometry
    with tempfile.TemporaryDirectory(prefix="degreespar-bench-") as name:
        folder = Path(name)
        say(f"making a model: {setting.name}, {geometry.layers} layers, {geometry.tokens} tokens")
        write_made_model(folder / "model", setting.public(), SEED)
        picture = write_noise_picture(folder / "picture.png", geometry, SEED)
        pair = Pair(folder, folder / "model", say, *setting.places, deadline_s=DEADLINE_S)
        return pair.classify([picture], options)


def _windows(done: Done) -> list[dict[str, Any]]:
    windows: list[dict[str, Any]] = done.facts["pictures"][0]["windows"]
    return windows


def _window_and_kind(window: dict[str, Any]) -> tuple[str, str]:
    name, _, kind = window["name"].partition(PART_SEPARATOR)
    return name, kind


def _measured(done: Done, windows: list[dict[str, Any]]) -> Measured:
    """Sums over the windows of a kind; without kinds, over the layers of one name."""
    kinds: dict[str, dict[str, Cost]] = {}
    for window in windows:
        name, kind = _window_and_kind(window)
        costs = kinds.setdefault(kind or name, {phase: Cost() for phase in PHASES})
        for phase in PHASES:
            costs[phase] += Cost(**window[phase])
    # A window whose work lies in its parts is left with some microseconds and no message.
    talking = {kind: costs for kind, costs in kinds.items() if total(costs.values()).to_client_bytes}
    waited_s = sum(window["waited_s"] for window in windows)
    return Measured(talking, waited_s, done.client_peak_bytes, done.server_peak_bytes)
