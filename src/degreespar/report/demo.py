"""What the demos print, from the figures that they put into their rows."""

from collections.abc import Mapping, Sequence
from typing import Any

LARGEST_SCORE_GAP = 0.1
"""Shares round up or down by chance where the clear engine rounds to nearest: scores differ by a little."""
LARGEST_TIE_GAP = 0.5
"""Where tokens are selected: two that nearly tie may change places by such a chance (ADR 61)."""


PICTURE, TEXT = "picture", "text"
COLUMNS = ("private answer", "in the clear", "truth")
BESIDE = "uncompressed"
"""Where a row keeps the figures of the model that the shown one was made from; also its column's name."""

Cells = Sequence[Sequence[str]]


def aligned(table: Mapping[str, Sequence[str]]) -> str:
    """The demo's columns under their names, what was asked in front."""
    columns = (TEXT if TEXT in table else PICTURE, *COLUMNS)
    rows = [columns, *zip(*(table[name] for name in columns), strict=True)]
    lines = _columns(rows).split("\n")
    widths = [max(len(row[number]) for row in rows) for number in range(len(columns))]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def summary(metrics: Mapping[str, Any]) -> str:
    """Agreement, seconds, bytes and rounds, means of one picture or text; two models side by side."""
    shown = {"compressed": metrics, BESIDE: metrics[BESIDE]} if BESIDE in metrics else {"": metrics}
    facts = [_facts(model) for model in shown.values()]
    names = [["", *shown]] if BESIDE in metrics else []
    rows = [[label, *(fact[label] for fact in facts)] for label in facts[0]]
    return _columns([*names, *rows])


def _facts(m: Mapping[str, Any]) -> dict[str, str]:
    kind = _kind(m)
    count, online_s = m[f"{kind}s"], m[f"answer_seconds_per_{kind}"]
    total_s = m[f"prepare_seconds_per_{kind}"] + online_s
    return {
        "private = clear": f"{m['private_equals_clear']}/{count}",
        "right": f"{m['right']}/{count}",
        "scores differ by": f"at most {m['largest_score_gap']:.4f} (allowed {allowed_gap(m)})",
        f"seconds per {kind}": f"{total_s:.2f}, {online_s:.2f} of them online",
        "prepared": _traffic(m, "prepare"),
        "online": _traffic(m, "answer"),
        "set-up": f"{m['set_up_seconds']:.2f} s once",
    }


def allowed_gap(metrics: Mapping[str, Any]) -> float:
    """How far private scores may be from those in the clear."""
    return LARGEST_TIE_GAP if metrics.get("selects") else LARGEST_SCORE_GAP


def _kind(metrics: Mapping[str, Any]) -> str:
    return TEXT if f"{TEXT}s" in metrics else PICTURE


def _traffic(metrics: Mapping[str, Any], phase: str) -> str:
    down, up, flips = (
        metrics[f"{phase}_{key}_per_{_kind(metrics)}"]
        for key in ("to_client_bytes", "to_server_bytes", "flips")
    )
    return f"{down / 1e6:.2f} MB down, {up / 1e6:.2f} MB up, {flips:.0f} flips"


def _columns(rows: Cells) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
