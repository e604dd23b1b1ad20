"""The command line's manners: exit codes, one sentence, one JSON object, an example in every help."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from degreespar.cli.main import COMMANDS, main
from degreespar.party.keys import CERTIFICATE_FILE, KEY_FILE, make_identity
from tests.support.made_artifact import made_artifact, selecting_policy, write_picture

NAMES = (
    "keys",
    "compress",
    "sweep",
    "export",
    "info",
    "serve",
    "classify",
    "simulate",
    "estimate",
    "price",
    "bench",
    "report",
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    made_artifact(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def peers(tmp_path: Path) -> list[str]:
    """Options of a client with an identity and somebody to trust."""
    make_identity(tmp_path / "client", "client")
    make_identity(tmp_path / "server", "server")
    return ["--identity", str(tmp_path / "client"), "--trust", str(tmp_path / "server" / CERTIFICATE_FILE)]


def _fails(capsys: Capture, *arguments: object) -> str:
    """Runs a command that must fail: exit code 2, nothing on stdout, one sentence on stderr."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("degreespar: ")
    return lines[0]


def _json(capsys: Capture, *arguments: object) -> dict[str, object]:
    assert main([*(str(argument) for argument in arguments), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_every_help_has_an_example_and_json(capsys: Capture, name: str) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert f"example:\n  degreespar {name} " in text
    assert "--json" in text


def test_the_commands_are_the_documented_ones() -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    for command in COMMANDS:
        command.add(commands)
    assert tuple(commands.choices) == NAMES


def test_keys_prints_the_fingerprint_and_refuses_a_second_time(capsys: Capture, tmp_path: Path) -> None:
    facts = _json(capsys, "keys", tmp_path / "me", "--name", "me")
    assert len(str(facts["fingerprint"])) == 64
    assert "never overwritten" in _fails(capsys, "keys", tmp_path / "me")


def test_info_describes_and_checks_an_artifact(capsys: Capture, model: Path) -> None:
    facts = _json(capsys, "info", model)
    assert facts["name"] == "tiny"
    answer = facts["answer"]
    assert isinstance(answer, dict)
    assert answer["windows"] == 4
    assert answer["to_client_bytes"] > 0
    assert main(["info", str(model)]) == 0
    assert "layer 2" in capsys.readouterr().out


def test_info_says_which_tokens_go_on_by_number(capsys: Capture, tmp_path: Path) -> None:
    made_artifact(tmp_path, degrees=selecting_policy("rank"))
    degrees = _json(capsys, "info", tmp_path)["degrees"]
    assert isinstance(degrees, list)
    assert (degrees[0]["tokens"], degrees[0]["kept_tokens"], degrees[1]["tokens"]) == (5, 4, 4)
    assert degrees[0]["selection"] == {"ranges": [1, 2], "alpha": 0.5, "method": "rank"}
    assert degrees[1]["selection"] is None
    assert main(["info", str(tmp_path)]) == 0
    assert "layer 1   5 tokens, kept 1 + 1 + 2; squarings" in capsys.readouterr().out


def test_info_needs_no_weights(capsys: Capture, model: Path) -> None:
    (model / "server.safetensors").unlink()
    assert set(_json(capsys, "info", model)["files_bytes"]) == {"public.json", "client.json"}  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("file", "change", "sentence"),
    [
        ("public.json", None, "cannot be read"),
        ("public.json", lambda content: content[:100], "not JSON"),
        (
            "public.json",
            lambda content: content.replace(b"degreespar-artifact", b"other"),
            "not of the format",
        ),
        ("public.json", lambda content: content.replace(b'"version":3', b'"version":1'), "has version 1"),
        ("server.safetensors", None, "cannot be read"),
        ("server.safetensors", lambda content: content[:-8], "was changed"),
        ("server.safetensors", lambda content: content[:-1] + bytes([content[-1] ^ 1]), "was changed"),
    ],
)
def test_a_bad_artifact_is_not_served(
    capsys: Capture, model: Path, peers: list[str], file: str, change: object, sentence: str
) -> None:
    content = (model / file).read_bytes()
    (model / file).unlink()
    if callable(change):
        (model / file).write_bytes(change(content))
    assert sentence in _fails(capsys, "serve", "--model", model, "--listen", "127.0.0.1:0", *peers)


@pytest.mark.parametrize("file", ["public.json", "client.json"])
def test_a_client_does_not_use_a_bad_artifact(
    capsys: Capture, model: Path, peers: list[str], tmp_path: Path, file: str
) -> None:
    picture = write_picture(tmp_path / "a.png", seed=1)
    (model / file).write_bytes((model / file).read_bytes().replace(b"0.25", b"0.26") + b" ")
    sentence = _fails(capsys, "classify", "--model", model, "--server", "127.0.0.1:1", *peers, picture)
    assert file in sentence


def test_a_client_needs_no_weights_and_no_server_to_refuse_a_picture(
    capsys: Capture, model: Path, peers: list[str], tmp_path: Path
) -> None:
    (model / "server.safetensors").unlink()
    picture = write_picture(tmp_path / "a.png", seed=1, side=6)
    sentence = _fails(capsys, "classify", "--model", model, "--server", "127.0.0.1:1", *peers, picture)
    assert "6x6 pixels, but the model takes 4x4" in sentence


@pytest.mark.parametrize("file", [CERTIFICATE_FILE, KEY_FILE])
def test_a_party_without_an_identity_is_told(
    capsys: Capture, model: Path, peers: list[str], tmp_path: Path, file: str
) -> None:
    (tmp_path / "client" / file).unlink()
    sentence = _fails(capsys, "serve", "--model", model, "--listen", "127.0.0.1:0", *peers)
    assert file in sentence


@pytest.mark.parametrize("server", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999", "no host:7"])
def test_a_server_that_is_not_there_is_one_sentence(
    capsys: Capture, model: Path, peers: list[str], tmp_path: Path, server: str
) -> None:
    picture = write_picture(tmp_path / "a.png", seed=1)
    _fails(capsys, "classify", "--model", model, "--server", server, *peers, picture)


def test_simulate_answers_pictures(capsys: Capture, model: Path, tmp_path: Path) -> None:
    pictures = [write_picture(tmp_path / f"{seed}.png", seed=seed) for seed in range(3)]
    facts = _json(capsys, "simulate", "--model", model, "--batch", 2, *pictures)
    answers = facts["answers"]
    assert isinstance(answers, dict)
    assert set(answers) == {str(path) for path in pictures}
    assert set(answers.values()) <= {"circle", "square", "star"}


def test_simulate_wants_exactly_one_source(capsys: Capture, model: Path, tmp_path: Path) -> None:
    assert "either" in _fails(capsys, "simulate", "--model", model)
    picture = write_picture(tmp_path / "a.png", seed=1)
    assert "either" in _fails(capsys, "simulate", "--model", model, "--data", tmp_path, picture)


def test_simulate_adds_a_row_only_when_asked(capsys: Capture, model: Path, tmp_path: Path) -> None:
    picture = write_picture(tmp_path / "a.png", seed=1)
    common = ["simulate", "--model", model, "--results", tmp_path / "results", picture]
    _json(capsys, *common)
    assert not (tmp_path / "results").exists()
    _json(capsys, *common, "--row")
    (line,) = (tmp_path / "results" / "private.eval.jsonl").read_text().splitlines()
    assert json.loads(line)["metrics"]["pictures"] == 1


def test_a_model_folder_of_another_kind_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    assert "public.json cannot be read" in _fails(capsys, "info", tmp_path)


@pytest.mark.parametrize("deadline", ["0", "-1", "nan", "inf", "soon"])
def test_a_deadline_is_a_positive_time(capsys: Capture, deadline: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["serve", "--model", "m", "--identity", "i", "--trust", "t", "--deadline", deadline])
    assert left.value.code == 2


def test_export_without_torch_says_what_to_install(tmp_path: Path) -> None:
    arguments = ["export", str(tmp_path), str(tmp_path / "out"), "--name", "m", "--data", str(tmp_path)]
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from degreespar.cli.main import main\n"
        f"sys.exit(main({arguments!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        "degreespar: export needs torch: install the extra with `pip install 'degreespar[train]'`\n"
    )
