"""A server process and a client process of ours, run as a user would, and what they cost."""

import json
import os
import subprocess
import sys
import threading
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
CLIENT_FILES = ("public.json", "client.json")
END_S = 120.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Done:
    """The client's JSON, and the largest memory that each process held."""

    facts: dict[str, Any]
    client_peak_bytes: int
    server_peak_bytes: int


@dataclass(frozen=True)
class Pair:
    """Keys, the client's part of a model and the places of both parties; `say` gets every line they print."""

    folder: Path
    model: Path
    say: Say
    server_place: Place = LOOPBACK
    client_place: Place = LOOPBACK
    deadline_s: float = 60.0

    def classify(self, pictures: Sequence[Path], options: Sequence[str] = ()) -> Done:
        """Starts both processes, has the pictures classified, and waits for both to end."""
        self._set_out()
        with self._serving() as (server, address):
            command = [*self.client_place.prefix, *COMMAND, "classify", "--json"]
            command += ["--model", str(self.folder / "client-model"), "--server", address]
            command += [*self._peers("client", "server"), *options, *map(str, pictures)]
            with _started(command, subprocess.PIPE) as client:
                relay = _relay("client", client, self.say)
                assert client.stdout is not None
                out = client.stdout.read()
                relay.join()
                client_peak = _peak_of_ended(client)
            if client.returncode:
                raise DegreeSparError("the client ended without answers")
            server_peak = _peak_of_ended(server)
        return Done(json.loads(out), client_peak, server_peak)

    def _set_out(self) -> None:
        """Keys of both parties, and the client's copy of the artifact: everything but the weights."""
        for name in ("server", "client"):
            if not (self.folder / name / KEY_FILE).exists():
                self.say(f"keys of the {name}: {make_identity(self.folder / name, name)[:16]}...")
        (self.folder / "client-model").mkdir(parents=True, exist_ok=True)
        for file in CLIENT_FILES:
            (self.folder / "client-model" / file).write_bytes((self.model / file).read_bytes())

    @contextmanager
    def _serving(self) -> Iterator[tuple[subprocess.Popen[str], str]]:
        listen = f"{self.server_place.address}:0"
        command = [*self.server_place.prefix, *COMMAND, "serve", "--model", str(self.model)]
        command += ["--listen", listen, "--max-clients", "1", *self._peers("server", "client")]
        with _started(command, subprocess.DEVNULL) as server:
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


def _peak_of_ended(process: subprocess.Popen[str]) -> int:
    """Waits for the end of a process; the largest memory that it held."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024


def _relay(name: str, process: subprocess.Popen[str], say: Say) -> threading.Thread:
    def copy(lines: IO[str]) -> None:
        for line in lines:
            say(f"{name} | {line.rstrip()}")

    assert process.stderr is not None
    thread = threading.Thread(target=copy, args=(process.stderr,), daemon=True)
    thread.start()
    return thread
