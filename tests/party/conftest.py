"""A made model, two identities that trust each other, and a server in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from degreespar._native import Identity
from degreespar.degree import METHODS, DegreePolicy
from degreespar.party.client import ClientModel
from degreespar.party.server import Limits, ServerModel, Tally, open_door, serve
from tests.support.made_artifact import made_artifact, policy, selecting_policy

DEADLINE_S = 4.0


@dataclass
class Place:
    """What a test needs of a running server."""

    address: str
    log: list[str] = field(default_factory=list)
    tally: Tally | None = None


@dataclass(frozen=True)
class World:
    """The two sides before they meet."""

    folder: Path
    server_model: ServerModel
    client_model: ClientModel
    server: Identity
    client: Identity

    @contextmanager
    def serving(self, deadline_s: float = DEADLINE_S) -> Iterator[Place]:
        """A server that trusts the client; it stops when the block ends."""
        listener = open_door("127.0.0.1:0", self.server, [self.client.fingerprint])
        place, stop = Place(listener.address), threading.Event()

        def run() -> None:
            limits = Limits(deadline_s=deadline_s, answers=5)
            place.tally = serve(listener, self.server_model, limits, stop, place.log.append)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield place
        finally:
            stop.set()
            thread.join(timeout=60)
        assert not thread.is_alive(), "the server hangs"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_of(tmp_path_factory.mktemp("model"), policy())


@pytest.fixture(scope="session", params=METHODS)
def selecting_world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A model that selects tokens, by each protocol."""
    return world_of(tmp_path_factory.mktemp("selecting"), selecting_policy(request.param))


def world_of(folder: Path, degrees: DegreePolicy) -> World:
    made_artifact(folder, degrees=degrees)
    return World(
        folder,
        ServerModel.load(folder),
        ClientModel.load(folder),
        Identity.generate("server"),
        Identity.generate("client"),
    )


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition of another thread."""
    tick = threading.Event()

    def wait(condition: Callable[[], bool]) -> None:
        for _ in range(600):
            if condition():
                return
            tick.wait(0.05)
        raise AssertionError("it did not happen")

    return wait
