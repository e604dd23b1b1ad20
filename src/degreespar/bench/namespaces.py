"""Two network namespaces on this machine, joined by a line of given rate and delay.

Works at the IP layer, so that any protocol of any program can be measured over the same line: each
namespace has a TUN device, and a forwarder of ours (`bench.forwarder`) passes packets between the two.
Needs root and the `ip` command, no kernel module.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from degreespar.bench.networks import Network
from degreespar.errors import DegreeSparError

READY = "ready"
DEVICE = "tun0"
MTU_BYTES = 65_000
"""Few large packets: a forwarder in Python keeps up with 3 Gbit/s."""
_COMMAND_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Place:
    """Where a process runs: the words before its command, and the address at which it can be reached."""

    prefix: tuple[str, ...]
    address: str


LOOPBACK = Place((), "127.0.0.1")


def can_make_namespaces() -> bool:
    """Whether this user may."""
    return os.geteuid() == 0 and shutil.which("ip") is not None and Path("/dev/net/tun").exists()


@contextmanager
def joined(network: Network) -> Iterator[tuple[Place, Place]]:
    """The two ends of a line; for the network `none` both are this machine as it is."""
    if network.bits_per_second is None:
        yield LOOPBACK, LOOPBACK
        return
    if not can_make_namespaces():
        raise DegreeSparError(
            "emulating a network at the IP layer needs root, the ip command and /dev/net/tun;"
            " without them use --emulate-inside"
        )
    names = tuple(f"degreespar-{os.getpid()}-{end}" for end in "ab")
    addresses = ("10.217.0.1", "10.217.0.2")
    try:
        for name in names:
            _ip("netns", "add", name)
        with _forwarding(names, network):
            for name, address in zip(names, addresses, strict=True):
                _bring_up(name, address)
            first, second = (
                Place(("ip", "netns", "exec", name), address)
                for name, address in zip(names, addresses, strict=True)
            )
            yield first, second
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=_COMMAND_TIMEOUT_S)


@contextmanager
def _forwarding(names: tuple[str, ...], network: Network) -> Iterator[None]:
    command = [sys.executable, "-m", "degreespar.bench.forwarder", *names]
    command += [str(network.bits_per_second), str(network.one_way_s)]
    forwarder = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        assert forwarder.stdout is not None
        if forwarder.stdout.readline().strip() != READY:
            raise DegreeSparError("the forwarder of the emulated network did not start")
        yield
    finally:
        forwarder.kill()
        forwarder.wait()


def _bring_up(name: str, address: str) -> None:
    inside = ("netns", "exec", name, "ip")
    _ip(*inside, "link", "set", "lo", "up")
    _ip(*inside, "addr", "add", f"{address}/24", "dev", DEVICE)
    _ip(*inside, "link", "set", DEVICE, "mtu", str(MTU_BYTES), "up")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=_COMMAND_TIMEOUT_S)
    if done.returncode:
        raise DegreeSparError(f"`ip {' '.join(words)}` failed: {done.stderr.strip()}")
