"""A profile as stacked bars: a bar for each layer, a piece for each kind of work."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from matplotlib.figure import Figure

from degreespar.party.profile import PHASES, Profile
from degreespar.party.report import Cost, total
from degreespar.report.figures import by_label, stacked_bars
from degreespar.report.page import Section, Table

MEASURES: Mapping[str, tuple[str, Callable[[Cost], float]]] = MappingProxyType(
    {
        "seconds": ("seconds", lambda cost: cost.seconds),
        "bytes": ("MB, both ways", lambda cost: (cost.to_client_bytes + cost.to_server_bytes) / 1e6),
        "flips": ("message flips", lambda cost: float(cost.flips)),
    }
)
VIEWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"total": PHASES, "prepare": PHASES[:1], "answer": PHASES[1:]}
)


def profile_figure(profile: Profile, measure: str, view: str) -> Figure:
    """Means of one answer."""
    y_label, _ = MEASURES[measure]
    labels, series = by_label(_by_layer(profile, measure, view))
    return stacked_bars(labels, series, y_label, f"{profile.model}: {view}, {measure} per layer")


def profile_sections(profile: Profile) -> list[Section]:
    """Every view of every measure, and the numbers."""
    figures = [
        Section(f"{view}: {measure}", figures=[profile_figure(profile, measure, view)])
        for view in VIEWS
        for measure in MEASURES
    ]
    return [Section("What it is", _words(profile), tables=[profile_table(profile)]), *figures]


def profile_table(profile: Profile) -> Table:
    """Kinds of work, all layers together."""
    rows = []
    for kind in dict.fromkeys(kind or layer for layer, kind in profile.parts):
        costs = [costs for (layer, name), costs in profile.parts.items() if (name or layer) == kind]
        cells = [total(cost[phase] for cost in costs) for phase in PHASES]
        rows.append([kind, *(cell for cost in cells for cell in _cells(cost, profile.answers))])
    header = ["kind of work"]
    header += [f"{phase} {what}" for phase in PHASES for what in ("s", "MB", "flips")]
    return Table(header, rows)


def _by_layer(profile: Profile, measure: str, view: str) -> dict[str, dict[str, float]]:
    _, read = MEASURES[measure]
    rows: dict[str, dict[str, float]] = {}
    for (layer, kind), costs in profile.parts.items():
        value = read(total(costs[phase] for phase in VIEWS[view])) / profile.answers
        parts = rows.setdefault(layer, {})
        parts[kind or layer] = parts.get(kind or layer, 0.0) + value
    return rows


def _cells(cost: Cost, answers: int) -> list[str]:
    values = [read(cost) / answers for _, read in MEASURES.values()]
    return [f"{values[0]:,.3f}", f"{values[1]:,.2f}", f"{values[2]:,.0f}"]


def _words(profile: Profile) -> str:
    many = "one answer" if profile.answers == 1 else f"the mean of {profile.answers} answers"
    return (
        f"The model {profile.model} (artifact {profile.artifact[:16]}...), {many}; seconds are the client's."
    )
