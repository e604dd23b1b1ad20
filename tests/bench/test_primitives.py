"""Every primitive is measured, and costs exactly what its plan declares, in both phases."""

from __future__ import annotations

import pytest

from degreespar.bench.primitives import Case, cases, measure

CASES = cases(scale=300)
PRIMITIVES = {
    "extend", "less_than", "mux", "mux_rows", "arithmetic", "square", "extend_square", "product",
    "reveal", "maximum", "piecewise", "reciprocal", "reciprocal_root", "linear", "matmul",
}  # fmt: skip


def test_every_primitive_is_there() -> None:
    assert {case.name for case in CASES} == PRIMITIVES


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{len(case.config)}")
def test_a_measured_primitive_costs_what_is_declared(case: Case) -> None:
    result = measure(case)
    assert result.answer.as_declared, (result.answer.wall, result.answer.declared)
    assert result.prepare.as_declared, (result.prepare.wall, result.prepare.declared)
    wall = result.answer.wall
    assert wall.to_client_bytes + wall.to_server_bytes > 0
    assert all(value is not None for value in result.metrics().values())
