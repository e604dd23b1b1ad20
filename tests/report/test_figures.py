"""Figures hold what they were given, and files come out the same each time."""

from pathlib import Path

import numpy as np
import pytest

from degreespar.report.figures import HeatMap, Series, by_label, heat_maps, lines, stacked_bars
from degreespar.report.page import Section, Table, page, png, svg, write
from degreespar.report.rows import ReportError

ROWS = {"layer 1": {"linear": 1.0, "gelu": 2.0}, "layer 2": {"gelu": 4.0, "softmax": 8.0}}


def test_bars_stack_every_kind_of_every_label() -> None:
    labels, series = by_label(ROWS)
    assert [(part.name, part.values) for part in series] == [
        ("linear", [1.0, 0.0]), ("gelu", [2.0, 4.0]), ("softmax", [0.0, 8.0]),
    ]  # fmt: skip
    figure = stacked_bars(labels, series, "seconds", "made")
    tops = [bar.get_y() + bar.get_height() for bar in figure.axes[0].patches]
    assert tops == [1.0, 0.0, 3.0, 4.0, 3.0, 12.0]


def test_heat_maps_share_one_scale_and_hide_panels_left_over() -> None:
    maps = [HeatMap(f"layer {i}", np.full((3, 2), float(i))) for i in range(5)]
    figure = heat_maps(maps, "key", "query", low=-1, high=6)
    images = [image for panel in figure.axes for image in panel.get_images()]
    assert [image.get_clim() for image in images] == [(-1.0, 6.0)] * 5
    assert len(png(figure)) > 1000


def test_lines_keep_the_order_of_their_points() -> None:
    figure = lines([Series("front", [90.0, 92.0], at=[1.0, 4.0])], "seconds", "%", "front")
    assert figure.axes[0].lines[0].get_xydata() == pytest.approx(np.array([[1.0, 90.0], [4.0, 92.0]]))


def test_the_same_figure_gives_the_same_bytes() -> None:
    first, second = (stacked_bars(*by_label(ROWS), "seconds", "made") for _ in range(2))
    assert png(first) == png(second)
    assert svg(first) == svg(second)
    assert b"layer 2" in svg(first)


def test_a_page_needs_no_other_file_and_escapes_what_it_shows() -> None:
    section = Section(
        "a < b", "words", [stacked_bars(*by_label(ROWS), "s", "t")], [Table(("x",), [("<i>",)])]
    )
    text = page("title", [section])
    assert "data:image/png;base64," in text
    assert "http" not in text.replace("http-equiv", "")
    assert "a &lt; b" in text and "&lt;i&gt;" in text


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.html"])
def test_the_name_says_the_format(tmp_path: Path, name: str) -> None:
    write(tmp_path / "new" / name, "t", [Section("s", figures=[stacked_bars(*by_label(ROWS), "s", "t")])])
    begin = (tmp_path / "new" / name).read_bytes()[:20]
    assert begin.startswith({"a.png": b"\x89PNG", "a.svg": b"<?xml", "a.html": b"<!doctype"}[name])


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"must end in one of \.png"):
        write(tmp_path / "a.gif", "t", [])
    with pytest.raises(ReportError, match="one figure, not 0"):
        write(tmp_path / "a.png", "t", [])
