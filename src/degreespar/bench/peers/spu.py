"""SPU 0.9.5 (Cheetah), the engine that a user would pick instead: one encoder layer, both parties.

It lives in an environment of its own (`.peers/spu`, made at first use) and is never a dependency.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from degreespar.artifact import VitGeometry
from degreespar.bench.namespaces import LOOPBACK, Place
from degreespar.bench.processes import Say
from degreespar.errors import DegreeSparError

VERSION = "0.9.5"
REQUIREMENTS = Path(__file__).with_name("spu_requirements.txt")
SCRIPT = Path(__file__).with_name("spu_party.py")
PYTHONS = ((3, 10), (3, 11))
PORTS = (9301, 9302)
RUN_TIMEOUT_S = 40 * 60.0
INSTALL_TIMEOUT_S = 20 * 60.0
_LINK = re.compile(r"Link details: total send bytes (\d+), recv bytes (\d+), send actions (\d+)")


@dataclass(frozen=True)
class PeerLayer:
    """What the peer's layer cost, its set-up apart; seconds are the client's."""

    seconds: float
    to_client_bytes: int
    to_server_bytes: int
    messages_to_server: int
    client_peak_bytes: int
    server_peak_bytes: int


def installed(folder: Path, say: Say) -> Path:
    """The Python of the peer's environment, made if it is not there."""
    python = folder / "bin" / "python"
    done = folder / ".installed"
    if done.exists():
        return python
    if sys.version_info[:2] not in PYTHONS:
        raise DegreeSparError(f"SPU {VERSION} needs Python 3.10 or 3.11, this is {sys.version.split()[0]}")
    say(f"making an environment for SPU {VERSION} in {folder} (about a minute)")
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(REQUIREMENTS)],
    ):
        ended = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
        if ended.returncode:
            raise DegreeSparError(f"SPU cannot be installed: {ended.stderr.strip().splitlines()[-1]}")
    done.touch()
    return python


def run_layer(
    python: Path,
    geometry: VitGeometry,
    squarings: int,
    places: tuple[Place, Place] = (LOOPBACK, LOOPBACK),
) -> PeerLayer:
    """One encoder layer of the geometry between two processes at the two places (server, client)."""
    addresses = [f"{place.address}:{port}" for place, port in zip(places, PORTS, strict=True)]
    sizes = (geometry.tokens, geometry.width, geometry.heads, geometry.ffn_widths[0], squarings)
    # -I: the script's own folder holds a module named spu (this one), which must not hide the package.
    parties = [
        subprocess.Popen(
            [*place.prefix, str(python), "-I", str(SCRIPT), str(rank), *addresses, *map(str, sizes)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank, place in enumerate(places)
    ]
    try:
        client_log, _ = parties[1].communicate(timeout=RUN_TIMEOUT_S)
        server_log, _ = parties[0].communicate(timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise DegreeSparError(f"SPU did not end within {RUN_TIMEOUT_S:.0f} s") from error
    finally:
        for party in parties:
            party.kill()
            party.wait()
    return _parsed(client_log, server_log)


def _parsed(client_log: str, server_log: str) -> PeerLayer:
    links = _LINK.findall(client_log)
    if not links:
        raise DegreeSparError(f"SPU ended without a result: {(client_log.strip() or 'no output')[-300:]}")
    sent, received, messages = map(int, links[-1])
    client, server = (json.loads(_last_json(log)) for log in (client_log, server_log))
    return PeerLayer(
        seconds=client["seconds"],
        to_client_bytes=received,
        to_server_bytes=sent,
        messages_to_server=messages,
        client_peak_bytes=client["peak_memory_bytes"],
        server_peak_bytes=server["peak_memory_bytes"],
    )


def _last_json(log: str) -> str:
    lines = [line for line in log.splitlines() if line.startswith("{")]
    if not lines:
        raise DegreeSparError("SPU ended without a result")
    return lines[-1]
