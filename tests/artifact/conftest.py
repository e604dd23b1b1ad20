"""The sample artifact as fixtures."""

from pathlib import Path

import pytest

from tests.artifact.sample import GEOMETRY, Parts, parts_of


@pytest.fixture
def parts() -> Parts:
    return parts_of(GEOMETRY)


@pytest.fixture
def directory(parts: Parts, tmp_path: Path) -> Path:
    """A sound artifact on disk."""
    path = tmp_path / "model"
    parts.write(path)
    return path
