"""Profiles of Hypothesis: `--hypothesis-profile=fuzz` searches for long (`make fuzz`)."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fuzz", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
