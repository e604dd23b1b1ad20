from dataclasses import fields

import pytest
import torch

from degreespar.degree import LayerBounds
from degreespar.models import Checkpoint
from degreespar.training import CalibrationError, uniform_policy
from degreespar.training.calibrate import Extremes, bound_for, calibrated, observe, range_for


def batches(count: int = 3) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(4, 2, 8, 8, generator=generator) for _ in range(count)]


@pytest.mark.parametrize(
    ("high", "offset", "bound"), [(1.0, 0.0, 2.0), (1.01, 0.0, 4.0), (0.9, 3.2, 8.0), (0.0, 0.0, 2.0**-12)]
)
def test_a_bound_is_the_next_power_of_two(high: float, offset: float, bound: float) -> None:
    assert bound_for(Extremes(0.0, high), offset, "x") == bound


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.5, 1.0, (0.25, 2.0)),
        (0.49, 1.01, (0.125, 4.0)),
        (3.0, 3.0, (1.0, 8.0)),
        (1e-6, 1e-6, (2**-21, 2**-18)),
    ],
)
def test_a_variance_range_is_rounded_outward(low: float, high: float, expected: tuple[float, float]) -> None:
    assert range_for(Extremes(low, high), "x") == expected


def test_values_that_no_ring_can_hold_are_refused() -> None:
    with pytest.raises(CalibrationError, match=r"not finite at layers\.0\.scores"):
        bound_for(Extremes(0.0, float("inf")), 0.0, "layers.0.scores")
    with pytest.raises(CalibrationError, match="reciprocal root"):
        range_for(Extremes(0.0, 1.0), "final_variance")


def test_every_value_seen_is_within_half_of_its_bound(checkpoint: Checkpoint) -> None:
    model = checkpoint.model
    policy = calibrated(model, uniform_policy(model.geometry, 2, 2), batches(), {})
    seen = observe(model, policy, batches())
    for index, layer in enumerate(policy.layers):
        for field in fields(LayerBounds):
            extremes, bound = seen[f"layers.{index}.{field.name}"], getattr(layer.bounds, field.name)
            if field.name.endswith("_variance"):
                assert bound[0] <= extremes.low / 2 <= extremes.high * 2 <= bound[1]
                assert bound[0] > extremes.low / 4
                assert bound[1] < extremes.high * 4
            elif field.name.endswith("_normed"):
                assert bound == 4.0  # sqrt(width)
            else:
                assert extremes.high * 2 <= bound < extremes.high * 4
    assert policy.bounds.logits >= 2 * seen["logits"].high


def test_bounds_do_not_depend_on_how_pictures_are_batched(checkpoint: Checkpoint) -> None:
    model = checkpoint.model
    policy = uniform_policy(model.geometry, 5, 4)
    together = calibrated(model, policy, [torch.cat(batches())], {})
    assert calibrated(model, policy, batches(), {}) == together
    assert together.layers[0].squarings == policy.layers[0].squarings


def test_calibration_leaves_the_exact_mode(checkpoint: Checkpoint) -> None:
    model, (pixels,) = checkpoint.model, batches(1)
    exact = model(pixels)
    observe(model, uniform_policy(model.geometry, 0, 1), [pixels])
    assert torch.equal(model(pixels), exact)


def test_no_pictures_no_bounds(checkpoint: Checkpoint) -> None:
    with pytest.raises(CalibrationError, match="nothing to calibrate on"):
        observe(checkpoint.model, uniform_policy(checkpoint.model.geometry, 5, 4), [])
