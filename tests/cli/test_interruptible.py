"""Ctrl-C and failures across the command's thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from degreespar.cli.interruptible import interruptible
from degreespar.party.keys import CERTIFICATE_FILE, make_identity
from tests.support.made_artifact import made_artifact


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A test run in the background is started deaf to Ctrl-C, and its children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_failures_come_through_with_their_type() -> None:
    def fail() -> None:
        raise LookupError("it is not here")

    with pytest.raises(LookupError, match="not here"):
        interruptible(fail)


def test_an_interrupt_does_not_wait_for_the_work() -> None:
    forever = threading.Event()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: forever.wait(60) and None)
    forever.set()


def test_ctrl_c_ends_a_server_with_130_and_no_traceback(tmp_path: Path) -> None:
    made_artifact(tmp_path / "model")
    make_identity(tmp_path / "me", "me")
    command = [sys.executable, "-m", "degreespar.cli.main", "serve", "--model", tmp_path / "model"]
    peers = ["--identity", tmp_path / "me", "--trust", tmp_path / "me" / CERTIFICATE_FILE]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", *peers], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("listening at 127.0.0.1:")
        server.send_signal(signal.SIGINT)
        rest = server.stderr.read()
        assert server.wait(timeout=30) == 130
    assert rest == "degreespar: interrupted\n"
