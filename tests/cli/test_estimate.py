"""`degreespar estimate` and `degreespar price`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from degreespar.artifact import BertGeometry, read_client
from degreespar.bench.geometries import vit_geometry
from degreespar.bench.made_model import made_policy
from degreespar.cli.main import FAILED, main
from degreespar.party.demand import Demand
from tests.support.made_artifact import made_artifact
from tests.support.made_text_artifact import GEOMETRY, PRIVATE, made_text_artifact

Capture = pytest.CaptureFixture[str]


def facts(capsys: Capture, *words: object) -> Any:
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def failure(capsys: Capture, *words: object) -> str:
    assert main([*map(str, words)]) == FAILED
    return capsys.readouterr().err


def test_an_artifact_s_estimate_declares_the_bytes_of_its_demand(capsys: Capture, tmp_path: Path) -> None:
    made_artifact(tmp_path)
    found = facts(capsys, "estimate", tmp_path, "--network", "wan2")
    demand = Demand.of(read_client(tmp_path)[0])
    assert found["answer"]["to_client_bytes"] == demand.bytes_to_client
    assert found["answer"]["to_server_bytes"] == demand.bytes_to_server
    assert found["total"]["seconds"] > facts(capsys, "estimate", tmp_path)["total"]["seconds"] > 0
    assert {window["name"] for window in found["by_kind"]["windows"]} >= {"layer 1/gelu", "layer 2/softmax"}


def test_a_policy_file_takes_a_geometry(capsys: Capture, tmp_path: Path) -> None:
    geometry = vit_geometry("vit-ti", layers=2, tokens=17)
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(made_policy(geometry, 2, 2).to_json()), encoding="utf-8")
    found = facts(capsys, "estimate", path, "--geometry", "vit-ti", "--network", "lan")
    sizes = ("--layers", 2, "--tokens", 17, "--squarings", 2, "--gelu-order", 2, "--network", "lan")
    assert found["windows"] == facts(capsys, "estimate", "--geometry", "vit-ti", *sizes)["windows"]
    assert "give an artifact's folder" in failure(capsys, "estimate", path)


def test_the_table_has_a_line_for_every_layer_and_kind(capsys: Capture, tmp_path: Path) -> None:
    made_artifact(tmp_path)
    assert main(["estimate", str(tmp_path)]) == 0
    begins = {line.split("  ")[0] for line in capsys.readouterr().out.splitlines()}
    assert begins >= {"embedding", "layer 1", "layer 2", "head", "all", "softmax", "norm"}


def test_what_cannot_be_estimated_or_measured_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("{", encoding="utf-8")
    words = failure(capsys, "estimate", tmp_path / "p.json", "--geometry", "vit-s")
    assert "cannot be read as a policy" in words
    assert "price table" in failure(
        capsys, "estimate", "--geometry", "vit-s", "--prices", tmp_path / "p.json"
    )
    assert "--identity" in failure(capsys, "price", "--server", "127.0.0.1:1", "--out", tmp_path / "o.json")


@pytest.mark.parametrize("geometry", [GEOMETRY, PRIVATE], ids=["public table", "private table"])
def test_a_text_artifact_is_estimated_at_a_length_class(
    capsys: Capture, tmp_path: Path, geometry: BertGeometry
) -> None:
    made_text_artifact(tmp_path, geometry)
    longest = facts(capsys, "estimate", tmp_path, "--network", "lan")
    shorter = facts(capsys, "estimate", tmp_path, "--network", "lan", "--tokens", 5)
    assert facts(capsys, "estimate", tmp_path, "--network", "lan", "--tokens", 8) == longest
    assert 0 < shorter["answer"]["to_client_bytes"] < longest["answer"]["to_client_bytes"]
    assert "inputs of 5, 8 tokens, not 6" in failure(capsys, "estimate", tmp_path, "--tokens", 6)
