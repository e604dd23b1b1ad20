"""A server process and a client process of ours, run as a user would, and what they cost."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from degreespar.bench.namespaces import LOOPBACK, Place
from degreespar.errors import DegreeSparError
from degreespar.party.keys import CERTIFICATE_FILE, KEY_FILE, make_identity
from degreespar.party.server import LISTENING

COMMAND = (sys.executable, "-m", "degreespar.cli.main")
CLIENT_FILES = ("public.json", "client.json", "client.safetensors")
"""The last only where a model of texts has a public table."""
END_S = 120.0
POLL_S = 0.02

Say = Callable[[str], None]


@dataclass(frozen=True)
class Done:
    """The client's JSON, and the largest memory that each process held."""

    facts: dict[str, Any]
    client_peak_bytes: int
    server_peak_bytes: int


@dataclass(frozen=True)
class TwoProcesses:
    """Keys and places of both parties; `say` gets every line that they print."""

    folder: Path
    say: Say
    server_place: Place = LOOPBACK
    client_place: Place = LOOPBACK
    deadline_s: float = 60.0

    def run(self, serve: Sequence[str], ask: Sequence[str]) -> Done:
        """Starts `degreespar SERVE... --listen` and `degreespar ASK... --server`, waits for both to end."""
        for name in ("server", "client"):
            if not (self.folder / name / KEY_FILE).exists():
                self.say(f"keys of the {name}: {make_identity(self.folder / name, name)[:16]}...")
        with self._serving(serve) as (server, address):
            command = [*self.client_place.prefix, *COMMAND, *ask, "--json", "--server", address]
            with _started([*command, *self._peers("client", "server")], subprocess.PIPE) as client:
                relay, output = _relay("client", client, self.say), _Output(client)
                client_peak = _peak_of_ended(client)
                relay.join()
                out = output.text()
            if client.returncode:
                raise DegreeSparError("the client ended without answers")
            server_peak = _peak_of_ended(server)
        return Done(json.loads(out), client_peak, server_peak)

    @contextmanager
    def _serving(self, serve: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
        command = [*self.server_place.prefix, *COMMAND, *serve, "--listen", f"{self.server_place.address}:0"]
        with _started([*command, *self._peers("server", "client")], subprocess.DEVNULL) as server:
            assert server.stderr is not None
            first = server.stderr.readline()
            self.say(f"server | {first.rstrip()}")
            if not first.startswith(LISTENING):
                raise DegreeSparError("the server did not start")
            relay = _relay("server", server, self.say)
            yield server, first.removeprefix(LISTENING).strip()
            relay.join(END_S)

    def _peers(self, own: str, other: str) -> list[str]:
        certificate = self.folder / other / CERTIFICATE_FILE
        names = ["--identity", str(self.folder / own), "--trust", str(certificate)]
        return [*names, "--deadline", str(self.deadline_s)]


@dataclass(frozen=True)
class Pair:
    """A model, served and asked."""

    folder: Path
    model: Path
    say: Say
    server_place: Place = LOOPBACK
    client_place: Place = LOOPBACK
    deadline_s: float = 60.0

    def classify(self, pictures: Sequence[Path], options: Sequence[str] = ()) -> Done:
        """Starts both processes, has the pictures classified, and waits for both to end."""
        client_model = self.folder / "client-model"
        client_model.mkdir(parents=True, exist_ok=True)
        # everything but the weights
        for file in (name for name in CLIENT_FILES if (self.model / name).exists()):
            (client_model / file).write_bytes((self.model / file).read_bytes())
        serve = ["serve", "--model", str(self.model), "--max-clients", "1"]
        ask = ["classify", "--model", str(client_model), *options, *map(str, pictures)]
        places = (self.server_place, self.client_place)
        return TwoProcesses(self.folder, self.say, *places, self.deadline_s).run(serve, ask)


@contextmanager
def _started(command: list[str], stdout: int) -> Iterator[subprocess.Popen[str]]:
    """Whatever happens, the process does not outlive the block."""
    process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()


class _Output:
    """What a process prints, read beside the waiting for its end."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._stdout, self._text = process.stdout, ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._stdout as stdout:
            self._text = stdout.read()

    def text(self) -> str:
        """All of it; the process has ended."""
        self._reader.join()
        return self._text


def _peak_of_ended(process: subprocess.Popen[str]) -> int:
    """Waits for the end of a process; the largest memory that it held."""
    # In short waits: Ctrl-C is heard between two of them only.
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        time.sleep(POLL_S)
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024


def _relay(name: str, process: subprocess.Popen[str], say: Say) -> threading.Thread:
    def copy(lines: IO[str]) -> None:
        with lines:
            for line in lines:
                say(f"{name} | {line.rstrip()}")

    assert process.stderr is not None
    thread = threading.Thread(target=copy, args=(process.stderr,), daemon=True)
    thread.start()
    return thread
