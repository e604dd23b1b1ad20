"""When sparsifying ends: hold-out accuracy in hard mode has been too low for too long."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class StopRule:
    """Accuracies are fractions; the floor is the uncompressed model's less the tolerance."""

    floor: float
    patience: int
    failures: int = 0

    @staticmethod
    def under(baseline: float, tolerance_points: float, patience: int) -> StopRule:
        """The rule for an uncompressed accuracy."""
        return StopRule(baseline - tolerance_points / 100, patience)

    def valid(self, accuracy: float) -> bool:
        """Whether a checkpoint of this accuracy may be the result."""
        return accuracy >= self.floor

    def after(self, accuracy: float) -> StopRule:
        """The rule once this check is counted."""
        return replace(self, failures=0 if self.valid(accuracy) else self.failures + 1)

    @property
    def stopped(self) -> bool:
        """Whether it has fired."""
        return self.failures >= self.patience
