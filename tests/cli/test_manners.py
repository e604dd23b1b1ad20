"""Whatever goes wrong, in its own process: one sentence, exit code 2 (Ctrl-C: 130), nothing half-written."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from degreespar.cli.main import main
from degreespar.party.keys import CERTIFICATE_FILE, KEY_FILE, make_identity
from tests.support.made_artifact import made_artifact, write_picture

Capture = pytest.CaptureFixture[str]
DEGREESPAR = [sys.executable, "-m", "degreespar.cli.main"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, two identities, pictures good and bad."""
    folder = tmp_path_factory.mktemp("place")
    made_artifact(folder / "model")
    for name in ("server", "client"):
        make_identity(folder / name, name)
    write_picture(folder / "good.png", seed=1)
    (folder / "text.png").write_text("no picture")
    (folder / "empty").write_bytes(b"")
    return folder


def _run(
    place: Path, *arguments: object, stdout: int | None = None, limit_bytes: int | None = None
) -> subprocess.CompletedProcess[str]:
    def small_disk() -> None:
        # Files end early, as on a full disk; Python turns the signal that comes with it into an error.
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.run(
        [*DEGREESPAR, *(str(argument) for argument in arguments)],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=100,
        preexec_fn=small_disk,
        check=False,
    )


def _sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of stderr, all others being progress."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert not done.stdout
    lines = done.stderr.splitlines()
    told = [line for line in lines if line.startswith("degreespar: ")]
    assert told == lines[-1:], done.stderr
    return told[0]


PEER = ["--identity", "client", "--trust", f"server/{CERTIFICATE_FILE}"]
CLASSIFY = ["classify", "--model", "model", "--server", "127.0.0.1:1", *PEER]
SERVE = ["serve", "--model", "model", "--listen", "127.0.0.1:0", *PEER]
SIMULATE = ["simulate", "--model", "model"]

USAGE = {
    "no command": [],
    "unknown command": ["frobnicate"],
    "unknown option": ["info", "model", "--frobnicate"],
    "keys without a folder": ["keys"],
    "serve without an identity": ["serve", "--model", "model"],
    "serve for no client": [*SERVE, "--max-clients", "0"],
    "serve for half a client": [*SERVE, "--max-clients", "0.5"],
    "deadline in words": [*CLASSIFY, "--deadline", "soon", "good.png"],
    "simulate no batch": [*SIMULATE, "--batch", "-3", "good.png"],
    "bench without a kind": ["bench"],
    "bench another geometry": ["bench", "layer", "--geometry", "vit-xxl"],
    "bench no layer": ["bench", "model", "--geometry", "vit-s", "--layers", "0"],
    "export another order": ["export", "model", "new", "--name", "x", "--data", ".", "--gelu-order", "5"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE.keys())
def test_a_wrong_use_is_explained_in_the_parsers_words(capsys: Capture, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    out, err = capsys.readouterr()
    assert (left.value.code, out) == (2, "")
    assert err.startswith("usage: degreespar")
    assert "error: " in err.splitlines()[-1]


FAILURES = {
    "keys below a file": (["keys", "good.png/me"], "good.png/me"),
    "keys where nothing can be": (["keys", "/proc/me"], "/proc/me"),
    "keys of no name": (["keys", "new", "--name", ""], "name"),
    "keys of a long name": (["keys", "new", "--name", "x" * 65], "name"),
    "keys with a NUL": (["keys", "new", "--name", "a\nb"], "printable"),
    "info of nothing": (["info", "nothing"], "public.json"),
    "info of a file": (["info", "good.png"], "public.json"),
    "info of a folder of another kind": (["info", "client"], "public.json"),
    "serve nothing": (["serve", "--model", "nothing", *PEER], "public.json"),
    "serve at no address": ([*SERVE, "--listen", "nowhere"], "nowhere"),
    "serve at another machine's address": ([*SERVE, "--listen", "203.0.113.1:0"], "203.0.113.1"),
    "serve without trust": ([*SERVE[:-1], "empty"], "certificate"),
    "serve with a picture for trust": ([*SERVE[:-1], "good.png"], "good.png"),
    "serve with a folder for trust": ([*SERVE[:-1], "model"], "model"),
    "classify nothing": (CLASSIFY, "nothing to classify"),
    "export without a source": (["export", "model", "new", "--name", "x"], "--data"),
    "classify with no server": ([*CLASSIFY, "good.png"], "127.0.0.1:1"),
    "classify text": ([*CLASSIFY, "text.png"], "text.png"),
    "classify an empty file": ([*CLASSIFY, "empty"], "empty"),
    "classify a folder": ([*CLASSIFY, "model"], "model"),
    "classify a device": ([*CLASSIFY, "/dev/zero"], "/dev/zero"),
    "classify what is not there": ([*CLASSIFY, "gone.png"], "gone.png"),
    "simulate text": ([*SIMULATE, "good.png", "text.png"], "text.png"),
    "simulate other data": ([*SIMULATE, "--data", "model"], "model"),
    "simulate a row to nowhere": ([*SIMULATE, "--row", "--results", "good.png/r", "good.png"], "good.png/r"),
    "bench a row to nowhere": (["bench", "engine", "--results", "good.png/r"], "good.png/r"),
    "bench too many tokens": (["bench", "layer", "--geometry", "vit-s", "--tokens", "7"], "7"),
    "bench other squarings": (["bench", "layer", "--geometry", "vit-s", "--squarings", "99"], "99"),
    "export no checkpoint": (
        ["export", "model", "new", "--name", "x", "--pictures", "good.png"],
        "config.json",
    ),
}


@pytest.mark.parametrize(("arguments", "names"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_is_one_sentence_that_names_its_cause(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str], names: str
) -> None:
    monkeypatch.chdir(place)
    before = _files(place)
    code = main(arguments)
    done = subprocess.CompletedProcess(arguments, code, *capsys.readouterr())
    assert names in _sentence(done)
    assert _files(place) == before


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


RESULTS = {
    "keys": ["keys", "new-{}"],
    "info": ["info", "model"],
    "simulate": [*SIMULATE, "good.png"],
    "json": ["info", "model", "--json"],
}


@pytest.mark.parametrize("arguments", RESULTS.values(), ids=RESULTS.keys())
def test_a_result_that_nobody_reads_is_one_sentence(place: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = _run(place, *(part.format("unread") for part in arguments), stdout=writer)
    os.close(writer)
    assert "stdout" in _sentence(done)


@pytest.mark.parametrize("arguments", RESULTS.values(), ids=RESULTS.keys())
def test_a_result_to_a_full_disk_is_one_sentence(place: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = _run(place, *(part.format("full") for part in arguments), stdout=full.fileno())
    assert "stdout" in _sentence(done)


@pytest.mark.parametrize("limit_bytes", [0, 100, 250])
def test_keys_are_written_whole_or_not_at_all(place: Path, tmp_path: Path, limit_bytes: int) -> None:
    assert "me" in _sentence(_run(place, "keys", tmp_path / "me", limit_bytes=limit_bytes))
    assert _files(tmp_path) == {}
    assert _run(place, "keys", tmp_path / "me").returncode == 0
    assert {path.name for path in (tmp_path / "me").iterdir()} == {KEY_FILE, CERTIFICATE_FILE}


def test_a_row_is_written_whole_or_not_at_all(place: Path, tmp_path: Path) -> None:
    command = [*SIMULATE, "--row", "--results", tmp_path, "good.png"]
    assert _run(place, *command).returncode == 0
    (before,) = _files(tmp_path).values()
    assert "private.eval" in _sentence(_run(place, *command, limit_bytes=len(before) + 50))
    assert list(_files(tmp_path).values()) == [before]
    assert _run(place, *command).returncode == 0


def test_an_artifact_is_replaced_whole_or_not_at_all(place: Path, tmp_path: Path) -> None:
    program = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from tests.support.made_artifact import made_artifact\n"
        "from degreespar.errors import DegreeSparError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
        "try:\n    made_artifact(Path(sys.argv[1]), seed=9)\n"
        "except DegreeSparError as error:\n    sys.exit(str(error))\n"
    )
    made_artifact(tmp_path / "model")
    before = _files(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "model"], capture_output=True, text=True, check=False
    )
    assert "cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert _files(tmp_path) == before


@dataclass(frozen=True)
class Wait:
    """A command that takes its time, and what its stderr says once it does."""

    arguments: list[str]
    says: str


WAITS = {
    "serve": Wait(SERVE, "listening at "),
    "bench engine": Wait(["bench", "engine", "--no-row"], ""),
    "bench layer": Wait(["bench", "layer", "--geometry", "vit-s", "--no-row"], "listening at "),
}


def _hearing() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_ctrl_c_ends_with_130_and_leaves_nothing(place: Path, tmp_path: Path, wait: Wait) -> None:
    with subprocess.Popen(
        [*DEGREESPAR, *wait.arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hearing,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stderr is not None
        if wait.says:
            while wait.says not in (line := process.stderr.readline()):
                assert line, "it ended"
        else:
            time.sleep(2)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "degreespar: interrupted"
    assert "Traceback" not in err
    assert _files(tmp_path) == {}
    _eventually(lambda: not _alive_in_session(process.pid))


def _alive_in_session(session: int) -> list[int]:
    alive = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                alive.append(int(folder.name))
    return alive


def _eventually(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never came true")


def test_ctrl_c_ends_a_client_that_waits_for_a_silent_server(place: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = ["classify", "--model", "model", "--server", address, *PEER, "good.png"]
        with subprocess.Popen(
            [*DEGREESPAR, *command],
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_hearing,
        ) as process:
            visitor, _ = silent.accept()
            threading.Event().wait(0.3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            visitor.close()
    assert (process.returncode, out, err) == (130, "", "degreespar: interrupted\n")


def test_json_is_one_object_also_of_a_failure_before_it(place: Path) -> None:
    done = _run(place, "info", "model", "--json")
    assert done.returncode == 0
    assert isinstance(json.loads(done.stdout), dict)
