"""What the estimator says of a setting that a bench then measures."""

from collections.abc import Mapping

from degreespar.bench.layer import MEASURED_LAYER, PHASES, Measured, Setting
from degreespar.cost.phase import Estimate
from degreespar.cost.run import RunEstimate, estimate_run
from degreespar.degree.price_table import Line, PriceTable
from degreespar.engine.trace import PART_SEPARATOR
from degreespar.party.demand import Demand
from degreespar.party.pace import Mode


def predicted_layer(setting: Setting, table: PriceTable, line: Line | None) -> RunEstimate:
    """The layer that `measure_layer` measures, kind by kind."""
    run = estimate_run(Demand.of(setting.layer.public(), by_kind=True), table, line)
    begin = f"{MEASURED_LAYER}{PART_SEPARATOR}"
    return RunEstimate(tuple(window for window in run.windows if window.name.startswith(begin)))


def predicted_model(
    setting: Setting, table: PriceTable, line: Line | None, mode: Mode, measured: Measured
) -> dict[str, object]:
    """For a row: seconds of a whole answer in its mode, and how far they are off."""
    run = estimate_run(Demand.of(setting.public()), table, line)
    whole_s = run.overlapped_seconds if mode is Mode.OVERLAP else (run.prepare + run.answer).seconds
    return {
        "predicted_total_seconds": whole_s,
        "predicted_prepare_seconds": run.prepare.seconds,
        "predicted_answer_seconds": run.answer.seconds,
        "predicted_over_measured": whole_s / measured.total.seconds,
    }


def comparison(predicted: RunEstimate, measured: Measured) -> dict[str, object]:
    """For a row: seconds of both by kind and phase, and how far the prediction of the layer is off."""
    total_s = (predicted.prepare + predicted.answer).seconds
    kinds = {
        kind: {"prepare": part.prepare.seconds, "answer": part.answer.seconds}
        for kind, part in predicted.kinds.items()
    }
    return {
        "predicted_total_seconds": total_s,
        "predicted_prepare_seconds": predicted.prepare.seconds,
        "predicted_answer_seconds": predicted.answer.seconds,
        "predicted_over_measured": total_s / measured.total.seconds,
        "predicted_kinds": kinds,
    }


def comparison_text(predicted: RunEstimate, measured: Measured) -> str:
    """A line for every kind of work and phase, and one for all."""
    lines = [f"{'kind of work':<14}{'phase':<9}{'measured s':>12}{'predicted s':>13}{'off':>8}"]
    for kind, part in predicted.kinds.items():
        phases: Mapping[str, Estimate] = {"prepare": part.prepare, "answer": part.answer}
        costs = measured.kinds.get(kind)
        if costs is not None:
            lines += [_line(kind, phase, costs[phase].seconds, phases[phase].seconds) for phase in PHASES]
    both = predicted.prepare + predicted.answer
    return "\n".join([*lines, _line("all", "total", measured.total.seconds, both.seconds)])


def _line(kind: str, phase: str, measured_s: float, predicted_s: float) -> str:
    off = f"{predicted_s / measured_s - 1:>+8.0%}" if measured_s > 0 else ""
    return f"{kind:<14}{phase:<9}{measured_s:>12.3f}{predicted_s:>13.3f}{off}"
