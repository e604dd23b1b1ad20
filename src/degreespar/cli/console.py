"""Where words go: the result to stdout, progress and logs to stderr."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from degreespar.errors import DegreeSparError
from degreespar.party.report import Step


class OutputError(DegreeSparError):
    """Nobody reads what a command prints, or the disk behind it is full."""


@dataclass(frozen=True)
class Console:
    """With `json`, stdout gets exactly one JSON object."""

    json: bool

    def say(self, text: str) -> None:
        """A line of progress or log."""
        print(text, file=sys.stderr, flush=True)

    def result(self, facts: Mapping[str, object], text: str) -> None:
        """What the command was asked for."""
        try:
            print(json.dumps(facts, sort_keys=True) if self.json else text, flush=True)
        except OSError as error:
            _close_stdout()
            raise OutputError(f"the result cannot be written to stdout: {error.strerror}") from error

    def step(self, what: str, step: Step) -> None:
        """Window by window on a terminal, phase by phase in a log."""
        done = step.number == step.windows
        line = f"{what}: {step.phase} {step.number}/{step.windows} ({step.window})"
        if sys.stderr.isatty():
            print(f"\r{line:<70}", end="\n" if done else "", file=sys.stderr, flush=True)
        elif done:
            self.say(line)


def _close_stdout() -> None:
    # Python writes what is left in its buffer once more when it ends, and would fail once more.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
