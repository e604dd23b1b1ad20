"""The client: connect, agree, and have pictures classified without showing them."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from degreespar._native import Connection, Identity, connect
from degreespar.artifact import Client, PublicPart, read_client
from degreespar.engine.ring import Integers
from degreespar.party.demand import Demand
from degreespar.party.handshake import Agreement, greet, policy_digest
from degreespar.party.native import native_errors
from degreespar.party.oracle import Scores
from degreespar.party.pace import WINDOWS_HELD, Mode, Pace
from degreespar.party.report import Cost, Progress, RunReport, silent
from degreespar.party.run import Run

DEADLINE_S = 60.0
"""Longest wait for one message of the peer."""


@dataclass(frozen=True)
class ClientModel:
    """What a client holds of a model: no weight. What one answer needs is computed once."""

    public: PublicPart
    client: Client
    digest: str
    demand: Demand

    @classmethod
    def load(cls, folder: Path, by_kind: bool = False) -> "ClientModel":
        """From an artifact's folder, for its longest inputs; only the client's files are read."""
        public, client, digest = read_client(folder)
        return cls.of(public, client, digest, public.geometry.tokens, by_kind)

    @classmethod
    def of(
        cls, public: PublicPart, client: Client, digest: str, tokens: int, by_kind: bool = False
    ) -> "ClientModel":
        """Of parts already read, for inputs of one length class."""
        chosen = public.at_length(tokens)
        return cls(chosen, client, digest, Demand.of(chosen, by_kind))


@dataclass(frozen=True)
class Answer:
    """The model's answer to one input; no scores where the artifact opens the label alone."""

    label: str
    scores: Scores | None
    report: RunReport

    @property
    def probabilities(self) -> Scores | None:
        """Softmax of the scores."""
        if self.scores is None:
            return None
        weights = np.exp(self.scores - self.scores.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)


@dataclass(frozen=True)
class Classification:
    """All answers over one connection."""

    set_up: Cost
    answers: tuple[Answer, ...]


def dial(address: str, identity: Identity, trusted: list[str], deadline_s: float) -> Connection:
    """Connects to a server that holds one of the trusted certificates."""
    with native_errors():
        connection = connect(address, identity, trusted, deadline_s)
        connection.set_deadline(deadline_s)
        return connection


def classify(
    connection: Connection,
    model: ClientModel,
    inputs: Sequence[Integers],
    mode: Mode = Mode.OVERLAP,
    progress: Progress = silent,
    windows_held: int = WINDOWS_HELD,
) -> Classification:
    """One private answer for each input, as `pictures` and `texts` make them; the connection is used up.

    `windows_held` bounds the memory of an overlapping run; the other modes have a bound of their own.
    """
    pace = Pace(mode, mode.windows_held(len(model.demand.windows), windows_held), len(inputs))
    wanted = Agreement(
        artifact=model.digest,
        policy=policy_digest(model.public.policy),
        answers=pace.answers,
        mode=pace.mode,
        windows_held=pace.windows_held,
        by_kind=model.demand.by_kind,
        tokens=model.public.geometry.tokens,
    )
    with native_errors():
        greet(connection, wanted)
    with closing(Run(connection, model.demand, tensors={}, pace=pace)) as run:
        answers = tuple(_answer(run, model.public, each, progress) for each in inputs)
    return Classification(run.set_up, answers)


def _answer(run: Run, public: PublicPart, given: Integers, progress: Progress) -> Answer:
    opened, report = run.answer(given, progress)
    if opened is None:
        raise RuntimeError("a run in the client's role reveals to the client")
    return Answer(public.labels[int(opened.labels)], opened.scores, report)
