"""Figures as files: PNG, SVG, or one self-contained HTML page."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from degreespar.report.rows import ReportError

DPI = 150
SUFFIXES = (".png", ".svg", ".html")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
)


@dataclass(frozen=True)
class Table:
    """Cells as text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A heading, words, and figures and tables under it."""

    title: str
    text: str = ""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


def png(figure: Figure) -> bytes:
    """The same figure gives the same bytes."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def svg(figure: Figure) -> bytes:
    """Text stays text."""
    out = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "degreespar"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def page(title: str, sections: Sequence[Section]) -> str:
    """One HTML file that needs no other."""
    body = "\n".join(_section(section) for section in sections)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    body = f"<h1>{html.escape(title)}</h1>\n{body}"
    return f"<!doctype html>\n<html><head>{head}</head>\n<body>{body}</body></html>\n"


def write(path: Path, title: str, sections: Sequence[Section]) -> None:
    """By the name's ending: the page, or the one figure as PNG or SVG."""
    if path.suffix not in SUFFIXES:
        raise ReportError(f"{path.name} must end in one of {', '.join(SUFFIXES)}")
    figures = [figure for section in sections for figure in section.figures]
    if path.suffix == ".html":
        content = page(title, sections).encode()
    elif len(figures) != 1:
        raise ReportError(f"{path.name} can hold one figure, not {len(figures)}: write an .html page")
    else:
        content = png(figures[0]) if path.suffix == ".png" else svg(figures[0])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}") from error


def write_pictures(folder: Path, sections: Sequence[Section]) -> list[Path]:
    """Every figure as a PNG, named after its section; gives the files."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for section in sections:
            stem = "-".join(section.title.lower().split())
            for number, figure in enumerate(section.figures, 1):
                written.append(folder / f"{stem}-{number}.png")
                written[-1].write_bytes(png(figure))
    except OSError as error:
        raise ReportError(f"cannot write to {folder}: {error.strerror}") from error
    return written


def _section(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    if section.text:
        parts.append(f"<p>{html.escape(section.text)}</p>")
    for figure in section.figures:
        data = base64.b64encode(png(figure)).decode()
        parts.append(f'<img alt="{html.escape(section.title)}" src="data:image/png;base64,{data}">')
    return "\n".join([*parts, *map(_table, section.tables)])


def _table(table: Table) -> str:
    rows = [_row("th", table.header), *(_row("td", row) for row in table.rows)]
    return f"<table>{''.join(rows)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
