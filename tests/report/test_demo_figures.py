"""When a demo's private answers agree with those in the clear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from degreespar.report.demo import PICTURE, summary
from degreespar.report.demo_figures import agrees, demo_metrics

COST = {"seconds": 1.0, "to_client_bytes": 10, "to_server_bytes": 20, "flips": 3}


def _metrics(private: float | None, selects: bool, label: str = "a") -> dict[str, Any]:
    """One picture whose clear scores are 0 and 1 (label `b`, unless the table says otherwise)."""
    scores = None if private is None else [0.0, 1.0 + private]
    answer = {"label": label, "scores": scores, "prepare": COST, "answer": COST}
    table = {"private answer": [label], "in the clear": ["b"], "truth": ["b"]}
    done = {"pictures": [answer], "set_up": COST}
    return demo_metrics(done, PICTURE, np.array([[0.0, 1.0]]), table, selects)


@pytest.mark.parametrize(
    ("gap", "selects", "label", "agreed"),
    [
        (0.05, False, "b", True),
        (0.2, False, "b", False),
        (0.05, False, "a", False),
        (0.2, True, "b", True),
        (0.2, True, "a", False),
        (0.6, True, "b", False),
        (None, True, "b", True),
        (None, True, "a", False),
        (None, False, "a", False),
    ],
)
def test_what_agrees(gap: float | None, selects: bool, label: str, agreed: bool) -> None:
    assert agrees(_metrics(gap, selects, label), PICTURE) is agreed


def test_two_models_stand_side_by_side() -> None:
    text = summary({**_metrics(0.2, True, "b"), "uncompressed": _metrics(0.0, False, "b")})
    assert "allowed 0.5" in text and "allowed 0.1" in text
    assert text.splitlines()[1].split() == ["private", "=", "clear", "1/1", "1/1"]
