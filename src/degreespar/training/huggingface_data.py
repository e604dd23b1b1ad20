"""Text classification sets of the Hugging Face hub, from a local folder and without the `datasets` package.

Three forms are read: what `save_to_disk` writes (arrow), the hub's own parquet files, and JSON lines or
comma- or tab-separated tables. The first two need pyarrow (extra: train).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from degreespar.training.errors import DataError
from degreespar.training.texts import LabelledTexts, Text, TextSplits, held_out_by_hash, without

Columns = dict[str, list[object]]
"""A table: its columns by name."""

LONGEST_FIELD = 1 << 22
FORMS = (".parquet", ".arrow", ".jsonl", ".json", ".csv", ".tsv")


@dataclass(frozen=True)
class TextTask:
    """Which columns hold what, which split tests, and the classes where the files do not name them.

    The test labels of GLUE are not published: its validation split is what is reported on.
    """

    columns: tuple[str, ...]
    label_names: tuple[str, ...]
    test_split: str
    train_split: str = "train"
    label: str = "label"


TASKS: Mapping[str, TextTask] = MappingProxyType(
    {
        "glue/cola": TextTask(("sentence",), ("unacceptable", "acceptable"), "validation"),
        "glue/sst2": TextTask(("sentence",), ("negative", "positive"), "validation"),
        "glue/mnli": TextTask(
            ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), "validation_matched"
        ),
        "imdb": TextTask(("text",), ("neg", "pos"), "test"),
    }
)


def load_huggingface(folder: Path, name: str) -> TextSplits:
    """The task `name` from a local copy of its data; a tenth of what trains is held out by hash.

    Rows of the test split of which a copy is among those that train or decide are left out.
    """
    task = TASKS.get(name)
    if task is None:
        raise DataError(f"there is no task {name!r}, only {', '.join(TASKS)}")
    known = _labelled(folder, task, task.train_split)
    training, held_out = held_out_by_hash(known)
    test = without(_labelled(folder, task, task.test_split), known)
    return TextSplits(task.label_names, training, held_out, test)


def read_split(folder: Path, split: str) -> Columns:
    """All rows of one split."""
    files = _files(folder, split)
    tables = [_read(path) for path in files]
    if any(table.keys() != tables[0].keys() for table in tables):
        raise DataError(f"the files of the split {split} in {folder} have different columns")
    return {name: [value for table in tables for value in table[name]] for name in tables[0]}


def _labelled(folder: Path, task: TextTask, split: str) -> LabelledTexts:
    table = read_split(folder, split)
    for column in (*task.columns, task.label):
        if column not in table:
            raise DataError(
                f"the split {split} in {folder} has no column {column!r}, only {', '.join(sorted(table))}"
            )
    where = f"the split {split} in {folder}"
    parts = [[_text(value, column, where) for value in table[column]] for column in task.columns]
    first, second = parts[0], parts[1] if len(parts) == 2 else [None] * len(parts[0])
    texts: tuple[Text, ...] = tuple(zip(first, second, strict=True))
    labels = [_label(value, task, where) for value in table[task.label]]
    return LabelledTexts(texts, np.array(labels, dtype=np.int64))


def _text(value: object, column: str, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{where} has a row whose {column!r} is no text")
    return value


def _label(value: object, task: TextTask, where: str) -> int:
    """A class number; tables of text may hold its digits or the class's name."""
    if isinstance(value, str) and value in task.label_names:
        return task.label_names.index(value)
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if type(value) is not int or not 0 <= value < len(task.label_names):
        raise DataError(f"{where} has the label {value!r}, which is none of {len(task.label_names)} classes")
    return value


def _files(folder: Path, split: str) -> list[Path]:
    """`split/` of save_to_disk, or `split.EXT`, `split-00000-of-00002.EXT`, here or in `data/`."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder of a data set")
    state = folder / split / "state.json"
    if state.is_file():
        return _arrow_files(state)
    for place in (folder, folder / "data", folder / split):
        found = sorted(p for p in place.glob("*") if p.suffix in FORMS and _is_of(p.stem, split))
        if found:
            return found
    raise DataError(f"{folder} holds no file of the split {split!r} ({', '.join(FORMS)})")


def _is_of(stem: str, split: str) -> bool:
    return stem == split or stem.startswith(f"{split}-")


def _arrow_files(state: Path) -> list[Path]:
    try:
        listed = json.loads(state.read_text(encoding="utf-8"))["_data_files"]
        return [state.parent / str(entry["filename"]) for entry in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{state} is not what save_to_disk writes") from error


def _read(path: Path) -> Columns:
    try:
        if path.suffix in (".parquet", ".arrow"):
            return _read_arrow(path)
        if path.suffix in (".csv", ".tsv"):
            return _read_separated(path)
        lines = path.read_text(encoding="utf-8").splitlines()
        return _columns([json.loads(line) for line in lines if line.strip()], path)
    except (OSError, ValueError) as error:  # UnicodeDecodeError and pyarrow's ArrowInvalid are ValueErrors
        raise DataError(f"{path} is missing, damaged or not of its form") from error


def _read_separated(path: Path) -> Columns:
    csv.field_size_limit(LONGEST_FIELD)
    with path.open(encoding="utf-8", newline="") as file:
        tabs = path.suffix == ".tsv"
        # GLUE's own tables have lone quotation marks.
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if tabs else csv.DictReader(file)
        return _columns([dict(row) for row in rows], path)


def _columns(rows: list[dict[str, object]], path: Path) -> Columns:
    if not rows or not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        raise DataError(f"{path} has no rows, or rows of different columns")
    return {name: [row[name] for row in rows] for name in rows[0]}


def _read_arrow(path: Path) -> Columns:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f"reading {path} needs pyarrow: install the extra `train`") from error
    try:
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
        else:
            with pyarrow.memory_map(str(path)) as source:
                table = pyarrow.ipc.open_stream(source).read_all()
        columns: Columns = table.to_pydict()
    except pyarrow.ArrowException as error:
        raise DataError(f"{path} is damaged or not of its form") from error
    return columns
