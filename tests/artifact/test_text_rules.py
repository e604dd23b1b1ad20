"""The rules of docs/spec/artifact.md about texts and about what is opened, each broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from degreespar.artifact import TextPart, errors, read_client, read_public, read_server, write_artifact
from tests.artifact.test_rules import change_client, change_public, refused, replace_file
from tests.support.made_text_artifact import (
    GEOMETRY,
    PRIVATE,
    WORDS,
    made_client,
    made_public,
    made_tensors,
    made_text_artifact,
    policy,
)

TABLE = "client.safetensors"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A sound artifact of texts on disk."""
    made_text_artifact(tmp_path / "text")
    return tmp_path / "text"


def test_what_is_written_is_read_again(texts: Path, tmp_path: Path) -> None:
    public, client, digest = read_client(texts)
    assert public == made_public()
    assert client == made_client()
    assert isinstance(client, TextPart)
    assert np.array_equal(client.table, made_client().table)  # type: ignore[arg-type]
    assert read_server(texts)[2] == digest
    _, tensors, _ = read_server(texts)
    assert write_artifact(tmp_path / "again", public, client, tensors) == digest


def test_a_private_table_is_a_weight_and_no_file_of_the_client(tmp_path: Path) -> None:
    made_text_artifact(tmp_path, PRIVATE)
    assert not (tmp_path / TABLE).exists()
    public, client, _ = read_client(tmp_path)
    assert isinstance(client, TextPart)
    assert client.table is None
    assert public.weights[0].name == "table.weight"
    assert public.weights[0].shape == (14, 8)


def test_a_public_table_is_no_weight(texts: Path) -> None:
    assert "table.weight" not in {entry.name for entry in read_public(texts)[0].weights}


def test_one_length_class_is_a_model_of_its_own() -> None:
    public = made_public()
    short = public.at_length(5)
    assert (short.geometry.tokens, short.policy, short.shorter_policies) == (5, policy(5), ())
    assert short.weights == public.weights
    assert public.at_length(8).policy == public.policy


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda g: g.update(embedding="open"), "embedding"),
        (lambda g: g.update(length_classes=[]), "length classes"),
        (lambda g: g.update(length_classes=[8, 5]), "ascending"),
        (lambda g: g.update(length_classes=[5, 11]), "3..10"),
        (lambda g: g.update(length_classes=[2, 8]), "3..10"),
        (lambda g: g.update(vocabulary=0), "vocabulary"),
        (lambda g: g.update(segments=17), "segments"),
        (lambda g: g.update(positions=4096), "positions"),
        (lambda g: g.update(heads=3), "heads"),
        (lambda g: g.update(layer_norm_eps=0.5), "layer_norm_eps"),
        (lambda g: g.update(ffn_widths=[6, 0]), "ffn width"),
        (lambda g: g.update(length_classes=list(range(3, 20))), "length classes"),
    ],
)
def test_a09_text_geometry(texts: Path, change: Change, place: str) -> None:
    change_public(texts, lambda value: change(value["geometry"]))
    assert place in refused(errors.GeometryInvalidError, lambda: read_public(texts))


def test_a09_unknown_kind(texts: Path) -> None:
    change_public(texts, lambda value: value.update(kind="gpt"))
    assert "gpt" in refused(errors.GeometryInvalidError, lambda: read_public(texts))


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(kind="vit"),
        lambda value: value.pop("kind"),
        lambda value: value.update(kind=1),
        lambda value: value["digests"].pop(TABLE),
        lambda value: value["geometry"].update(image_px=8),
    ],
)
def test_a07_a_kind_has_its_own_keys(texts: Path, change: Change) -> None:
    change_public(texts, change)
    refused(errors.WrongFieldsError, lambda: read_public(texts))


def test_a11_bounds_of_another_kind(texts: Path) -> None:
    bounds = {"final_normed": 4.0, "logits": 8.0, "final_variance": [0.5, 2.0]}
    change_public(texts, lambda value: value["policy"].update(bounds=bounds))
    refused(errors.PolicyShapeMismatchError, lambda: read_public(texts))


def test_a02_a_vocabulary_may_be_large_but_not_any_size(texts: Path) -> None:
    os.truncate(texts / "client.json", (16 << 20) + 1)
    refused(errors.FileTooLargeError, lambda: read_client(texts))
    made_text_artifact(texts)
    os.truncate(texts / TABLE, 2**40)
    refused(errors.FileTooLargeError, lambda: read_client(texts))


@pytest.mark.parametrize("reveal", ["", "nothing", "Scores"])
def test_a25_what_is_opened_is_known(texts: Path, reveal: str) -> None:
    change_public(texts, lambda value: value.update(reveal=reveal))
    refused(errors.RevealInvalidError, lambda: read_public(texts))


def test_a26_one_policy_for_each_shorter_length(texts: Path) -> None:
    change_public(texts, lambda value: value.update(shorter_policies=[]))
    refused(errors.LengthPoliciesMismatchError, lambda: read_public(texts))
    change_public(texts, lambda value: value.update(shorter_policies=[policy(5).to_json()] * 2))
    refused(errors.LengthPoliciesMismatchError, lambda: read_public(texts))


def test_a26_each_for_its_tokens(texts: Path) -> None:
    change_public(texts, lambda value: value.update(shorter_policies=[policy(6).to_json()]))
    assert "6 tokens" in refused(errors.PolicyShapeMismatchError, lambda: read_public(texts))


def test_a26_pictures_have_one_length(directory: Path) -> None:
    change_public(directory, lambda value: value.update(shorter_policies=[value["policy"]]))
    refused(errors.LengthPoliciesMismatchError, lambda: read_public(directory))


@pytest.mark.parametrize(
    "vocabulary",
    [
        [],
        list(WORDS[1:]),
        [*WORDS, "good"],
        [*WORDS, ""],
        [*WORDS, "x" * 201],
        [*WORDS, "two", "more"],
    ],
)
def test_a27_vocabulary(texts: Path, vocabulary: list[str]) -> None:
    change_client(texts, lambda value: value.update(vocabulary=vocabulary))
    refused(errors.VocabularyInvalidError, lambda: read_client(texts))


def test_a27_a_writer_needs_one(tmp_path: Path, parts: Any) -> None:
    public = made_public()
    with pytest.raises(errors.VocabularyInvalidError):
        write_artifact(tmp_path, public, parts.client, made_tensors(public))


@pytest.mark.parametrize("change", [{"vocabulary": "words"}, {"lower_case": 1}, {"table_frac_bits": 7.0}])
def test_a07_types_of_the_text_part(texts: Path, change: dict[str, object]) -> None:
    change_client(texts, lambda value: value.update(change))
    refused(errors.WrongFieldsError, lambda: read_client(texts))


def test_a28_table_of_another_artifact(texts: Path) -> None:
    content = (texts / TABLE).read_bytes()
    (texts / TABLE).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused(errors.TableDigestMismatchError, lambda: read_client(texts))


def test_a29_table_that_is_none(texts: Path) -> None:
    content = (texts / TABLE).read_bytes()
    for broken in (b"", content[:20], content[:-1]):
        replace_file(texts, TABLE, broken)
        refused(errors.TableInvalidError, lambda: read_client(texts))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: {"table": table[:-1]},
        lambda table: {"table": table.astype(np.int64)},
        lambda table: {"table": table.astype(np.float32)},
        lambda table: {"words": table},
        lambda table: {"table": table, "more": table},
    ],
)
def test_a29_table_of_another_form(texts: Path, change: Callable[[np.ndarray], dict[str, Any]]) -> None:
    table = load((texts / TABLE).read_bytes())["table"]
    replace_file(texts, TABLE, save(change(table)))
    refused(errors.TableInvalidError, lambda: read_client(texts))


@pytest.mark.parametrize("bits", [-1, 13, None])
def test_a29_fraction_bits(texts: Path, bits: int | None) -> None:
    change_client(texts, lambda value: value.update(table_frac_bits=bits))
    refused(errors.TableInvalidError, lambda: read_client(texts))


def test_a29_a_private_table_has_no_fraction_bits(tmp_path: Path) -> None:
    made_text_artifact(tmp_path, PRIVATE)
    change_client(tmp_path, lambda value: value.update(table_frac_bits=7))
    refused(errors.TableInvalidError, lambda: read_client(tmp_path))


def test_a29_a_writer_refuses_a_table_of_another_shape(tmp_path: Path) -> None:
    public, client = made_public(), made_client()
    wrong = replace(client, table=client.table[:-1])  # type: ignore[index]
    with pytest.raises(errors.TableInvalidError):
        write_artifact(tmp_path, public, wrong, made_tensors(public))


def test_pictures_and_texts_are_not_mistaken_for_each_other(parts: Any) -> None:
    with pytest.raises(errors.WrongKindError, match="takes texts, not pictures"):
        _ = made_public().pictures
    with pytest.raises(errors.WrongKindError, match="takes pictures, not texts"):
        _ = parts.public.texts
    assert made_public().texts == GEOMETRY
