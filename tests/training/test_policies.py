from degreespar.degree import DegreePolicy
from degreespar.models import Checkpoint
from degreespar.training import uniform_policy


def test_a_uniform_policy_fits_its_geometry(checkpoint: Checkpoint) -> None:
    geometry = checkpoint.model.geometry
    policy = uniform_policy(geometry, 2, 3)
    assert [(layer.tokens, layer.ffn_width) for layer in policy.layers] == [(5, 24), (5, 20)]
    assert {int(v) for layer in policy.layers for v in layer.squarings.values.ravel()} == {2}
    assert {int(v) for layer in policy.layers for v in layer.gelu_orders.values.ravel()} == {3}
    assert DegreePolicy.from_json(policy.to_json()) == policy
