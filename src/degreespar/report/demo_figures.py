"""A demo's figures: private answers beside those in the clear and the truth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from degreespar.party.oracle import Scores
from degreespar.report.demo import allowed_gap

Table = Mapping[str, Sequence[str]]


def demo_metrics(
    done: Mapping[str, Any], kind: str, scores: Scores, table: Table, selects: bool
) -> dict[str, Any]:
    """Means per picture or text of what the client measured, and how many answers are which.

    `done` is what `classify --json` prints, `kind` what was asked, `scores` those in the clear; `selects`:
    whether the policy selects tokens. The gap of scores is 0 where the label alone is opened.
    """
    answers = done[f"{kind}s"]
    opened = [answer["scores"] for answer in answers if answer["scores"] is not None]
    gap = np.abs(np.array(opened) - scores).max() if opened else 0.0
    metrics: dict[str, Any] = {
        f"{kind}s": len(answers),
        "private_equals_clear": _equal(table, "private answer", "in the clear"),
        "right": _equal(table, "private answer", "truth"),
        "largest_score_gap": float(gap),
        "selects": selects,
        **{f"set_up_{key}": value for key, value in done["set_up"].items()},
    }
    for phase in ("prepare", "answer"):
        for key in answers[0][phase]:
            total = sum(answer[phase][key] for answer in answers)
            metrics[f"{phase}_{key}_per_{kind}"] = total / len(answers)
    return metrics


def agrees(metrics: Mapping[str, Any], kind: str) -> bool:
    """Whether every private answer is the one in the clear, and its scores are as near as they must be.

    Where tokens are selected, scores may differ by more (ADR 61); a label never.
    """
    same = metrics["private_equals_clear"] == metrics[f"{kind}s"]
    return bool(same and metrics["largest_score_gap"] <= allowed_gap(metrics))


def _equal(table: Table, left: str, right: str) -> int:
    return sum(a == b for a, b in zip(table[left], table[right], strict=True))
