"""`degreespar classify`: private answers for pictures or texts."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.artifact import TextPart, read_client
from degreespar.cli.arguments import add_mode, add_model, add_peer, new_command
from degreespar.cli.console import Console
from degreespar.cli.inputs import Inputs, add_inputs, read_inputs
from degreespar.cli.interruptible import interruptible
from degreespar.party.client import Answer, Classification, ClientModel, classify, dial
from degreespar.party.keys import load_identity, load_trusted
from degreespar.party.profile import Profile, write_profile
from degreespar.party.report import Cost, Step, total

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "classify",
        "have pictures or texts classified by a server that never sees them",
        "degreespar classify --model m --server 10.0.0.5:7700 --identity clinic --trust hospital.crt a.png",
    )
    add_model(parser, "artifact; only the client's files are read")
    parser.add_argument("--server", required=True, metavar="HOST:PORT")
    add_peer(parser)
    add_mode(parser)
    parser.add_argument(
        "--by-kind", action="store_true", help="prepare and report every kind of work of a layer apart"
    )
    parser.add_argument(
        "--profile", type=Path, metavar="FILE.json", help="write that report (--by-kind is then implied)"
    )
    parser.add_argument("--probabilities", action="store_true", help="print those of all classes")
    add_inputs(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Reads everything first, so that nothing is sent if anything is wrong here."""
    public, client, digest = read_client(options.model)
    inputs = read_inputs(options, public, client)
    if inputs.cut:
        console.say(f"{inputs.cut} texts are longer than {public.geometry.tokens} tokens: their ends are cut")
    model = ClientModel.of(
        public, client, digest, inputs.tokens, options.by_kind or options.profile is not None
    )
    identity, trusted = load_identity(options.identity), load_trusted(options.trust)
    progress = _Progress(console, _kind(model), inputs.names)

    def ask() -> Classification:
        connection = dial(options.server, identity, trusted, options.deadline)
        return classify(connection, model, list(inputs.rows), options.mode, progress.step, options.windows)

    done = interruptible(ask)
    if options.profile is not None:
        reports = [answer.report for answer in done.answers]
        write_profile(options.profile, Profile.of_runs(model.public.name, model.digest, reports))
    console.result(_facts(inputs, model, done), _text(options, inputs, model, done))


class _Progress:
    """Knows which input a step belongs to: the answer's last step ends it."""

    def __init__(self, console: Console, kind: str, names: list[str]) -> None:
        self._console, self._kind, self._names, self._number = console, kind, names, 0

    def step(self, step: Step) -> None:
        name = Path(self._names[self._number]).name
        self._console.step(f"{self._kind} {self._number + 1}/{len(self._names)} {name}", step)
        if step.phase == "answer" and step.number == step.windows:
            self._number += 1


def _facts(inputs: Inputs, model: ClientModel, done: Classification) -> dict[str, object]:
    pairs = zip(inputs.names, done.answers, strict=True)
    kind = _kind(model)
    return {
        "model": model.public.name,
        "artifact": model.digest,
        "tokens": inputs.tokens,
        "set_up": asdict(done.set_up),
        f"{kind}s": [_answer_facts(kind, name, answer, model) for name, answer in pairs],
    }


def _kind(model: ClientModel) -> str:
    return "text" if isinstance(model.client, TextPart) else "picture"


def _answer_facts(kind: str, name: str, answer: Answer, model: ClientModel) -> dict[str, object]:
    """Scores and probabilities are null where the label alone is opened."""
    scores, chances = answer.scores, answer.probabilities
    return {
        kind: name,
        "label": answer.label,
        "scores": None if scores is None else scores.tolist(),
        "probabilities": (
            None if chances is None else dict(zip(model.public.labels, chances.tolist(), strict=True))
        ),
        **answer.report.to_json(),
    }


def _text(options: argparse.Namespace, inputs: Inputs, model: ClientModel, done: Classification) -> str:
    lines = []
    for name, answer in zip(inputs.names, done.answers, strict=True):
        chances = answer.probabilities
        lines.append(f"{name}: {answer.label}" + ("" if chances is None else f" ({chances.max():.1%})"))
        if options.probabilities and chances is not None:
            pairs = sorted(zip(chances, model.public.labels, strict=True), reverse=True)
            lines += [f"    {probability:7.2%} {label}" for probability, label in pairs]
    reports = [answer.report for answer in done.answers]
    lines += [
        _cost_line("set-up", done.set_up),
        _cost_line("prepare", total(report.prepare for report in reports)),
        _cost_line("answer", total(report.answer for report in reports)),
        f"all in   {done.set_up.seconds + sum(report.wall_s for report in reports):8.2f} s",
    ]
    return "\n".join(lines)


def _cost_line(phase: str, cost: Cost) -> str:
    down, up = cost.to_client_bytes / 1e6, cost.to_server_bytes / 1e6
    return f"{phase:8} {cost.seconds:8.2f} s  {down:8.2f} MB down  {up:8.2f} MB up  {cost.flips} flips"
