"""FFN dimensions that a policy never evaluates, taken out of policy and weights."""

from __future__ import annotations

import torch

from degreespar.degree import DegreePolicy
from degreespar.degree.stages import used_dimensions, without_unused
from degreespar.training.classifier import Classifier, narrowed


def compacted(model: Classifier, policy: DegreePolicy) -> tuple[Classifier, DegreePolicy]:
    """A smaller model and policy with exactly the same outputs: order 0 contributed exactly 0."""
    kept = [torch.tensor(used_dimensions(layer)) for layer in policy.layers]
    return narrowed(model, kept), without_unused(policy)
