"""Either party may end at any point: the other says so in a sentence, in time; the next one is answered."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from degreespar._native import NativeError, memory_pair
from degreespar.party.client import classify, dial
from degreespar.party.errors import PartyError
from degreespar.party.keys import CERTIFICATE_FILE
from degreespar.party.pace import Mode, Pace
from degreespar.party.report import Step
from degreespar.party.run import Run
from tests.cli.test_two_processes import DEGREESPAR, place, serving
from tests.cli.test_two_processes import classify as answered_by
from tests.party.conftest import DEADLINE_S, World
from tests.party.test_answers import ask, some_pictures

__all__ = ["place"]  # a fixture
CUTS = 10
"""Points of each direction, evenly over a whole run."""


class Relay:
    """Passes bytes between a client and the server, so many of one direction; then both ends close."""

    def __init__(self, address: str, direction: str, most_bytes: float) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        self.passed = {"up": 0, "down": 0}
        self._limit = {"up": float("inf"), "down": float("inf"), direction: most_bytes}
        self._thread = threading.Thread(target=self._run, args=(address,), daemon=True)
        self._thread.start()

    def _run(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        client, _ = self._listener.accept()
        server = socket.create_connection((host, int(port)))
        pumps = [
            threading.Thread(target=self._pump, args=(*ends, direction), daemon=True)
            for ends, direction in (((client, server), "up"), ((server, client), "down"))
        ]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        for end in (client, server, self._listener):
            end.close()

    def _pump(self, source: socket.socket, target: socket.socket, direction: str) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                room = int(min(self._limit[direction] - self.passed[direction], len(content)))
                target.sendall(content[:room])
                self.passed[direction] += room
                if room < len(content):
                    source.shutdown(socket.SHUT_RDWR)
                    break
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR if self.passed[direction] < self._limit[direction] else 2)

    def wait(self) -> None:
        self._thread.join(30)


def _ask_through(relay: Relay, world: World) -> None:
    connection = dial(relay.address, world.client, [world.server.fingerprint], DEADLINE_S)
    classify(connection, world.client_model, list(some_pictures(2)))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_connection_may_break_after_any_byte(world: World, direction: str) -> None:
    with world.serving() as place:
        whole = Relay(place.address, direction, float("inf"))
        _ask_through(whole, world)
        whole.wait()
        for cut in range(1, CUTS + 1):
            relay = Relay(place.address, direction, whole.passed[direction] * (2 * cut - 1) // (2 * CUTS))
            begin = time.monotonic()
            with pytest.raises(PartyError) as told:
                _ask_through(relay, world)
            assert time.monotonic() - begin < 30
            assert "\n" not in str(told.value)
            relay.wait()
            seen = _eventually_failed(place.log, cut)
            assert "internal error" not in seen[-1]
        assert len(ask(world, place.address, some_pictures(1)).answers) == 1


def _eventually_failed(log: list[str], count: int) -> list[str]:
    for _ in range(600):
        failed = [line for line in log if line.startswith("a client failed: ")]
        if len(failed) == count:
            return failed
        time.sleep(0.05)
    raise AssertionError(f"{count} failures were expected: {log}")


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("window", [1, 3, 6])
def test_a_run_that_ends_early_leaves_nothing_prepared_on_either_side(
    world: World, mode: Mode, window: int
) -> None:
    """The client fails in the middle of its first answer, or of its second one."""
    ends, runs, told = memory_pair(), {}, []
    pace = Pace(mode, mode.windows_held(len(world.client_model.demand.windows)), answers=3)
    answered: list[str] = []

    def fail(step: Step) -> None:
        answered.extend([step.window] if step.phase == "answer" else [])
        if len(answered) == window:
            raise KeyboardInterrupt

    def serve() -> None:
        ends[0].set_deadline(30.0)
        runs["server"] = run = Run(ends[0], world.server_model.demand, world.server_model.tensors, pace)
        with pytest.raises(PartyError) as error:
            for _ in range(3):
                run.answer(None, lambda step: None)
        told.append(str(error.value))

    thread = threading.Thread(target=serve)
    thread.start()
    ends[1].set_deadline(30.0)
    runs["client"] = run = Run(ends[1], world.client_model.demand, {}, pace)
    with pytest.raises(KeyboardInterrupt):
        for picture in some_pictures(3):
            run.answer(picture, fail)
    thread.join()
    assert len(told) == 1
    assert "closed the connection" in told[0]
    for side, run in runs.items():
        assert run.session.unused_correlations() == 0, side
        with pytest.raises(PartyError):
            run.answer(some_pictures(1)[0] if side == "client" else None, lambda step: None)
        run.close()
        with pytest.raises(NativeError, match="closed"):
            run.session.begin_window()


@contextmanager
def _asking(place: Path, address: str) -> Iterator[subprocess.Popen[str]]:
    """A client process with many pictures."""
    command = [*DEGREESPAR, "classify", "--model", place / "client-model", "--server", address]
    peers = ["--identity", place / "client", "--trust", place / "server" / CERTIFICATE_FILE]
    pictures = [place / "0.png", place / "1.png"] * 50
    words = [str(word) for word in (*command, *peers, "--deadline", "20", *pictures)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        try:
            yield client
        finally:
            client.kill()


def _wait_for_lines(process: subprocess.Popen[str], count: int) -> None:
    assert process.stderr is not None
    for _ in range(count):
        assert process.stderr.readline()


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 2, 7])
def test_a_killed_client_is_a_failure_and_the_next_is_answered(place: Path, lines: int) -> None:
    with serving(place, clients=2) as (server, address):
        with _asking(place, address) as client:
            _wait_for_lines(client, lines)
            client.send_signal(signal.SIGKILL)
        assert answered_by(place, address).returncode == 0
        _, said = server.communicate(timeout=60)
    failures = [line for line in said.splitlines() if "a client failed" in line]
    assert len(failures) == 1
    assert "closed the connection" in failures[0]


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 2, 7])
def test_a_client_whose_server_is_killed_says_so(place: Path, lines: int) -> None:
    with serving(place, clients=1) as (server, address), _asking(place, address) as client:
        _wait_for_lines(client, lines)
        server.send_signal(signal.SIGKILL)
        _, said = client.communicate(timeout=60)
        assert client.returncode not in (0, -signal.SIGKILL)
    assert "the peer closed the connection" in said.splitlines()[-1]
    assert "Traceback" not in said
