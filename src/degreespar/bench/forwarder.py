"""Passes packets between the TUN devices of two namespaces, as late as a line of given rate would.

    python -m degreespar.bench.forwarder NAMESPACE_A NAMESPACE_B BITS_PER_SECOND ONE_WAY_S

Says `ready` once both devices exist, and runs until its standard input closes or it is killed. One
process for each direction: a packet leaves the line when the ones before it have left it and its own
bits have passed, and arrives one delay later. Nothing is lost; TCP's own windows limit what waits.
"""

import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque
from pathlib import Path

from degreespar.bench.namespaces import DEVICE, MTU_BYTES, READY

_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_PACKETS_AT_ONCE = 64


def main() -> None:
    """Opens both devices, forks, forwards."""
    first, second, rate, delay = sys.argv[1:]
    devices = [_open_device(name) for name in (first, second)]
    print(READY, flush=True)
    # The child forwards the other way; both end with the parent's standard input.
    source, sink = devices if os.fork() else reversed(devices)
    Line(source, sink, float(rate), float(delay)).forward()


class Line:
    """One direction."""

    def __init__(self, source: int, sink: int, bits_per_second: float, one_way_s: float) -> None:
        self._source, self._sink = source, sink
        self._seconds_per_byte = 8 / bits_per_second
        self._one_way_s = one_way_s
        self._free_from_s = 0.0
        self._under_way: deque[tuple[float, bytes]] = deque()

    def forward(self) -> None:
        """Until standard input closes."""
        while True:
            wait_s = None
            if self._under_way:
                wait_s = max(0.0, self._under_way[0][0] - time.monotonic())
            ready, _, _ = select.select([self._source, sys.stdin], [], [], wait_s)
            if sys.stdin in ready:
                return
            if ready:
                self._take()
            self._deliver()

    def _take(self) -> None:
        for _ in range(_PACKETS_AT_ONCE):
            try:
                packet = os.read(self._source, MTU_BYTES + 100)
            except BlockingIOError:
                return
            now = time.monotonic()
            self._free_from_s = max(now, self._free_from_s) + len(packet) * self._seconds_per_byte
            self._under_way.append((self._free_from_s + self._one_way_s, packet))

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._under_way and self._under_way[0][0] <= now:
            _, packet = self._under_way.popleft()
            try:
                os.write(self._sink, packet)
            except OSError:
                # The other device is not up yet, or its queue is full: a lost packet, as on a line.
                return


def _open_device(namespace: str) -> int:
    """A TUN device inside the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/run/netns", namespace).open("rb") as handle:
        if libc.setns(handle.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


if __name__ == "__main__":
    main()
