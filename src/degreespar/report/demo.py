"""What the demo prints, from the figures that it puts into its row."""

from collections.abc import Mapping, Sequence
from typing import Any

LARGEST_SCORE_GAP = 0.1
"""Shares round up or down by chance where the clear engine rounds to nearest: scores differ by a little."""


PICTURE, TEXT = "picture", "text"
COLUMNS = ("private answer", "in the clear", "truth")


def aligned(table: Mapping[str, Sequence[str]]) -> str:
    """The demo's columns under their names, what was asked in front."""
    columns = (TEXT if TEXT in table else PICTURE, *COLUMNS)
    cells = [table[name] for name in columns]
    widths = [max(map(len, (name, *column))) for name, column in zip(columns, cells, strict=True)]
    rows = [columns, tuple("-" * width for width in widths), *zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def summary(metrics: Mapping[str, Any]) -> str:
    """Agreement, seconds, bytes and rounds: means of one picture or text."""
    m, kind = metrics, _kind(metrics)
    online_s = m[f"answer_seconds_per_{kind}"]
    total_s = m[f"prepare_seconds_per_{kind}"] + online_s
    count = m[f"{kind}s"]
    return "\n".join(
        [
            f"private = clear   {m['private_equals_clear']}/{count}; right {m['right']}/{count}",
            f"scores            differ by at most {m['largest_score_gap']:.4f} (allowed {LARGEST_SCORE_GAP})",
            f"seconds           {total_s:.2f} per {kind}, {online_s:.2f} of them online",
            _traffic(m, "prepare", "prepared"),
            _traffic(m, "answer", "online"),
            f"set-up            {m['set_up_seconds']:.2f} s once",
        ]
    )


def _kind(metrics: Mapping[str, Any]) -> str:
    return TEXT if f"{TEXT}s" in metrics else PICTURE


def _traffic(metrics: Mapping[str, Any], phase: str, what: str) -> str:
    down, up, flips = (
        metrics[f"{phase}_{key}_per_{_kind(metrics)}"]
        for key in ("to_client_bytes", "to_server_bytes", "flips")
    )
    sent = f"{down / 1e6:.2f} MB to the client, {up / 1e6:.2f} MB to the server"
    return f"{what:<18}{sent}, {flips:.0f} message flips"
