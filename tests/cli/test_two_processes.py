"""The main road with real processes: serve here, classify there, answers as in the clear."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from degreespar.artifact import read_client, read_server
from degreespar.party.keys import CERTIFICATE_FILE, make_identity
from degreespar.party.oracle import Oracle
from degreespar.party.pictures import read_pictures, to_patches
from tests.party.test_answers import LARGEST_GAP
from tests.support.made_artifact import made_artifact, write_picture

pytestmark = pytest.mark.slow
DEGREESPAR = [sys.executable, "-m", "degreespar.cli.main"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made_artifact(tmp_path / "model")
    (tmp_path / "client-model").mkdir()
    for name in ("public.json", "client.json"):
        (tmp_path / "client-model" / name).write_bytes((tmp_path / "model" / name).read_bytes())
    for name in ("server", "client", "stranger"):
        make_identity(tmp_path / name, name)
    for number in range(2):
        write_picture(tmp_path / f"{number}.png", seed=number)
    return tmp_path


@contextmanager
def serving(place: Path, clients: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*DEGREESPAR, "serve", "--model", place / "model", "--listen", "127.0.0.1:0", "--json"]
    peers = ["--identity", place / "server", "--trust", place / "client" / CERTIFICATE_FILE]
    limits = ["--max-clients", str(clients), "--deadline", "30"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *peers, *limits], **pipes) as server:  # type: ignore[call-overload]
        try:
            yield server, server.stderr.readline().removeprefix("listening at ").strip()
        finally:
            server.kill()


def classify(
    place: Path, address: str, who: str = "client", model: str = "client-model"
) -> subprocess.CompletedProcess[str]:
    command = [*DEGREESPAR, "classify", "--json", "--model", place / model, "--server", address]
    peers = ["--identity", place / who, "--trust", place / "server" / CERTIFICATE_FILE, "--deadline", "30"]
    pictures = [place / "0.png", place / "1.png"]
    return subprocess.run([*command, *peers, *pictures], capture_output=True, text=True, timeout=100)


def test_private_answers_of_two_processes_are_the_oracle_s(place: Path) -> None:
    with serving(place, clients=1) as (server, address):
        done = classify(place, address)
        out, _ = server.communicate(timeout=60)
        assert server.returncode == 0
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    public, client, digest = read_client(place / "model")
    tensors = read_server(place / "model")[1]
    oracle = Oracle(public, {name: tensor.astype(np.int64) for name, tensor in tensors.items()})
    pixels = read_pictures([place / "0.png", place / "1.png"], public.geometry)
    expected = oracle.scores(to_patches(pixels, public.geometry, client))
    assert np.abs(np.array([p["scores"] for p in facts["pictures"]]) - expected).max() < LARGEST_GAP
    assert facts["artifact"] == digest
    assert {"served": 1, "failed": 0, "answers": 2}.items() <= json.loads(out).items()


def test_a_stranger_fails_on_both_sides_and_the_next_client_is_answered(place: Path) -> None:
    with serving(place, clients=2) as (server, address):
        refused = classify(place, address, who="stranger")
        done = classify(place, address)
        out, err = server.communicate(timeout=60)
        assert server.returncode == 2
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith("degreespar: ")
    assert refused.stderr.count("\n") == 1
    assert done.returncode == 0, done.stderr
    assert "not among the trusted" in err
    assert err.splitlines()[-1] == "degreespar: 1 of 2 clients failed"
    assert json.loads(out)["served"] == 1


def test_another_artifact_fails_on_both_sides(place: Path) -> None:
    made_artifact(place / "other", seed=77)
    with serving(place, clients=1) as (server, address):
        refused = classify(place, address, model="other")
        _, err = server.communicate(timeout=60)
        assert server.returncode == 2
    assert refused.returncode == 2
    assert "this server's artifact is" in refused.stderr
    assert "this server's artifact is" in err
