"""Figures of reports: small functions from numbers to a matplotlib figure (extra: report).

No state of matplotlib's own (`pyplot`) is used: a figure is a value, drawn without a display.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

BAR_INCHES, HEIGHT_INCHES, LEAST_INCHES = 0.42, 3.6, 6.0
MAP_INCHES = 2.4
_COLOURS = mpl.colormaps["tab10"]


@dataclass(frozen=True)
class Series:
    """A line of points, or one kind's part of every bar."""

    name: str
    values: Sequence[float]
    at: Sequence[float] = ()
    """Where the points of a line stand; of bars: nothing."""


@dataclass(frozen=True)
class HeatMap:
    """One matrix of numbers, row 0 on top."""

    title: str
    values: NDArray[np.float64]


def stacked_bars(labels: Sequence[str], series: Sequence[Series], y_label: str, title: str) -> Figure:
    """A bar for each label, made of one piece for each series, in their order from the bottom up."""
    figure, axes = _one_panel(max(LEAST_INCHES, BAR_INCHES * len(labels) + 2.0), title)
    places, floor = np.arange(len(labels)), np.zeros(len(labels))
    for number, part in enumerate(series):
        values = np.asarray(part.values, dtype=np.float64)
        axes.bar(places, values, bottom=floor, label=part.name, color=_COLOURS(number % 10), width=0.8)
        floor = floor + values
    axes.set_xticks(
        places, labels, rotation=45 if len(labels) > 4 else 0, ha="right" if len(labels) > 4 else "center"
    )
    axes.set_ylabel(y_label)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def heat_maps(maps: Sequence[HeatMap], x_label: str, y_label: str, low: float, high: float) -> Figure:
    """Several matrices side by side on one scale from `low` to `high`."""
    cols = min(4, len(maps))
    rows = -(-len(maps) // cols)
    figure = Figure(figsize=(MAP_INCHES * cols + 1.0, MAP_INCHES * rows), layout="constrained")
    panels = figure.subplots(rows, cols, squeeze=False).ravel()
    for panel, drawn in zip(panels, maps, strict=False):
        image = panel.imshow(drawn.values, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        panel.set_title(drawn.title, fontsize=9)
        panel.tick_params(labelsize=7)
    for panel in panels[len(maps) :]:
        panel.set_axis_off()
    figure.supxlabel(x_label, fontsize=9)
    figure.supylabel(y_label, fontsize=9)
    figure.colorbar(image, ax=panels.tolist(), shrink=0.8)
    return figure


def lines(series: Sequence[Series], x_label: str, y_label: str, title: str, marks: bool = True) -> Figure:
    """Points joined in the order given: a history, or a front of accuracy against cost."""
    figure, axes = _one_panel(LEAST_INCHES, title)
    for number, line in enumerate(series):
        axes.plot(
            line.at, line.values, marker="o" if marks else "", label=line.name, color=_COLOURS(number % 10)
        )
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    if len(series) > 1:
        axes.legend(frameon=False)
    return figure


def by_label(rows: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[Series]]:
    """Labels and series for `stacked_bars` of what each label is made of; a missing kind is 0."""
    kinds = dict.fromkeys(kind for parts in rows.values() for kind in parts)
    series = [Series(kind, [parts.get(kind, 0.0) for parts in rows.values()]) for kind in kinds]
    return list(rows), series


def _one_panel(width_inches: float, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width_inches, HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=10)
    return figure, axes
