"""Texts: from words to private answers of a small made model, each length class, both kinds of table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from degreespar._native import Identity
from degreespar.artifact import BertGeometry
from degreespar.errors import DegreeSparError
from degreespar.party.client import ClientModel, classify, dial
from degreespar.party.errors import RefusedError, TextError
from degreespar.party.oracle import Oracle
from degreespar.party.pace import Mode
from degreespar.party.server import ServerModel
from degreespar.party.texts import Text, TextRows, read_text, to_rows
from tests.party.conftest import World
from tests.party.test_transcript import recorded
from tests.support.made_text_artifact import (
    GEOMETRY,
    LABELS,
    PRIVATE,
    TEXTS,
    made_client,
    made_public,
    made_text_artifact,
)

LARGEST_GAP = 0.02
GOLDEN = Path(__file__).parent.parent / "golden" / "reveals.json"
Make = Callable[[BertGeometry, str], World]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    made: dict[tuple[str, str], World] = {}

    def world(geometry: BertGeometry, reveal: str) -> World:
        key = (geometry.embedding, reveal)
        if key not in made:
            folder = tmp_path_factory.mktemp("text")
            made_text_artifact(folder, geometry, reveal)
            server, client = ServerModel.load(folder), ClientModel.load(folder)
            made[key] = World(
                folder, server, client, Identity.generate("server"), Identity.generate("client")
            )
        return made[key]

    return world


def rows_of(*texts: Text, geometry: BertGeometry = GEOMETRY) -> TextRows:
    return to_rows(texts, made_public(geometry), made_client(geometry))


@pytest.mark.parametrize("reveal", ["scores", "label"])
@pytest.mark.parametrize("geometry", [GEOMETRY, PRIVATE], ids=["public", "private"])
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]], ids=["8 tokens", "5 tokens"])
def test_private_answers_are_the_oracle_s(
    make: Make, geometry: BertGeometry, texts: tuple[Text, ...], reveal: str
) -> None:
    world = make(geometry, reveal)
    given = rows_of(*texts, geometry=geometry)
    public, client = world.client_model.public, world.client_model.client
    whole = world.server_model.public
    model = ClientModel.of(whole, client, world.server_model.digest, given.tokens)
    expected = Oracle(whole.at_length(given.tokens), world.server_model.tensors).scores(given.rows)
    with world.serving(deadline_s=30.0) as place:
        connection = dial(place.address, world.client, [world.server.fingerprint], deadline_s=30.0)
        done = classify(connection, model, list(given.rows))
    assert [answer.label for answer in done.answers] == [LABELS[i] for i in expected.argmax(axis=1)]
    for answer, scores in zip(done.answers, expected, strict=True):
        if reveal == "label":
            assert answer.scores is None
            assert answer.probabilities is None
        else:
            assert answer.scores is not None
            assert np.abs(answer.scores - scores).max() < LARGEST_GAP
    assert place.tally is not None
    assert (place.tally.failed, place.tally.answers) == (0, len(texts))
    assert public.geometry.tokens == 8


def test_answers_differ_from_text_to_text(make: Make) -> None:
    """The tiny model does look at its input: none of the above would notice otherwise."""
    model = make(GEOMETRY, "scores").server_model
    scores = Oracle(model.public, model.tensors).scores(rows_of(*TEXTS).rows)
    assert len({tuple(row) for row in scores.round(3).tolist()}) == len(TEXTS)


def test_padding_has_no_influence(make: Make) -> None:
    """Other values in masked rows, other scores of theirs: the same answer to the last bit."""
    model = make(GEOMETRY, "scores").server_model
    oracle = Oracle(model.public, model.tensors)
    given = rows_of(*TEXTS)
    other = given.rows.copy()
    padding = other[..., -1] == 0
    assert padding.any()
    other[padding, :-1] = np.random.default_rng(0).integers(-4000, 4000, other[padding, :-1].shape)
    assert np.array_equal(oracle.scores(given.rows), oracle.scores(other))


@pytest.mark.parametrize("geometry", [GEOMETRY, PRIVATE], ids=["public", "private"])
def test_texts_of_one_length_class_have_the_same_transcript(make: Make, geometry: BertGeometry) -> None:
    """Short or long, single or pair, known words or not: nothing of it shows."""
    world = make(geometry, "label")
    short = rows_of(("film", None), TEXTS[1], geometry=geometry)
    pair = rows_of(("?", "unknown words"), TEXTS[1], geometry=geometry)
    assert short.tokens == pair.tokens == 8
    ours, theirs = (recorded(world, list(given.rows), Mode.OVERLAP) for given in (short, pair))
    assert ours == theirs


def test_the_reveals_of_text_programs_are_the_committed_ones(make: Make) -> None:
    committed = json.loads(GOLDEN.read_text(encoding="utf-8"))
    seen = {
        f"bert {reveal}": list(make(GEOMETRY, reveal).client_model.demand.reveals)
        for reveal in ("scores", "label")
    }
    assert all(len(reveals) == 1 for reveals in seen.values())
    assert seen == {name: committed[name] for name in seen}


def test_a_length_class_that_the_server_does_not_have_is_refused(make: Make) -> None:
    world = make(GEOMETRY, "scores")
    longer = ClientModel(world.client_model.public, world.client_model.client, world.client_model.digest,
                         world.client_model.demand)  # fmt: skip
    other = made_public(GEOMETRY.at_length(6))
    model = ClientModel.of(other, longer.client, longer.digest, 6)
    with world.serving(deadline_s=30.0) as place:
        connection = dial(place.address, world.client, [world.server.fingerprint], deadline_s=30.0)
        with pytest.raises(RefusedError, match="this server's inputs have 5, 8 tokens, not 6"):
            classify(connection, model, [np.zeros((6, 9), dtype=np.int64)])


def test_texts_become_rows_of_the_table() -> None:
    client, given = made_client(), rows_of(("Good films", None))
    assert given.tokens == 5
    assert given.cut == (False,)
    assert given.rows[0, :, -1].tolist() == [1, 1, 1, 1, 1]
    table = client.table
    assert table is not None
    # [CLS] good film ##s [SEP], all of segment 0, in units of 2^-12.
    words = table[[2, 4, 6, 8, 3]].astype(np.int64) + table[12]
    assert np.array_equal(given.rows[0, :, :-1], words << 5)


def test_pairs_have_two_segments_and_one_class_for_all() -> None:
    given = rows_of(("bad", "film"), ("good", None), geometry=PRIVATE)
    assert given.tokens == 5
    first = given.rows[0, :, :-1]
    assert (first.sum(axis=1) == 2 << 12).all()
    assert first[:, 12:].argmax(axis=1).tolist() == [0, 0, 0, 1, 1]
    assert given.rows[1, :, -1].tolist() == [1, 1, 1, 0, 0]


def test_a_text_that_is_too_long_loses_its_end_and_says_so() -> None:
    given = rows_of(("film " * 20, None), ("good", None))
    assert given.cut == (True, False)
    assert given.rows.shape == (2, 8, 9)
    assert given.rows[0, :, -1].tolist() == [1] * 8


def test_what_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TextError, match="is no text in UTF-8"):
        read_text(tmp_path / "bytes")
    with pytest.raises(DegreeSparError, match="none cannot be read"):
        read_text(tmp_path / "none")
    (tmp_path / "text").write_text("ein Käfer")
    assert read_text(tmp_path / "text") == "ein Käfer"


def test_a_pair_for_a_model_of_single_texts_is_refused() -> None:
    from dataclasses import replace

    single = replace(GEOMETRY, segments=1)
    with pytest.raises(TextError, match="takes single texts, not pairs"):
        to_rows([("a", "b")], made_public(single), made_client(single))
