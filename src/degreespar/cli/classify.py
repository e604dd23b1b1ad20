"""`degreespar classify`: private answers for pictures."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.cli.arguments import add_model, add_peer, new_command
from degreespar.cli.console import Console
from degreespar.cli.interruptible import interruptible
from degreespar.party.client import Answer, Classification, ClientModel, classify, dial
from degreespar.party.keys import load_identity, load_trusted
from degreespar.party.pictures import read_pictures, to_patches
from degreespar.party.profile import Profile, write_profile
from degreespar.party.report import Cost, Step, total

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "classify",
        "have pictures classified by a server that never sees them",
        "degreespar classify --model m --server 10.0.0.5:7700 --identity clinic --trust hospital.crt a.png",
    )
    add_model(parser, "artifact; only the client's files are read")
    parser.add_argument("--server", required=True, metavar="HOST:PORT")
    add_peer(parser)
    parser.add_argument(
        "--just-in-time", action="store_true", help="prepare each part of the model when it begins"
    )
    parser.add_argument(
        "--by-kind", action="store_true", help="prepare and report every kind of work of a layer apart"
    )
    parser.add_argument(
        "--profile", type=Path, metavar="FILE.json", help="write that report (--by-kind is then implied)"
    )
    parser.add_argument("--probabilities", action="store_true", help="print those of all classes")
    parser.add_argument("pictures", type=Path, nargs="+", metavar="PICTURE")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Reads everything first, so that nothing is sent if anything is wrong here."""
    model = ClientModel.load(options.model, options.by_kind or options.profile is not None)
    pixels = read_pictures(options.pictures, model.public.geometry)
    patches = list(to_patches(pixels, model.public.geometry, model.client))
    identity, trusted = load_identity(options.identity), load_trusted(options.trust)
    progress = _Progress(console, options.pictures)

    def ask() -> Classification:
        connection = dial(options.server, identity, trusted, options.deadline)
        return classify(connection, model, patches, options.just_in_time, progress.step)

    done = interruptible(ask)
    if options.profile is not None:
        reports = [answer.report for answer in done.answers]
        write_profile(options.profile, Profile.of_runs(model.public.name, model.digest, reports))
    console.result(_facts(options, model, done), _text(options, model, done))


class _Progress:
    """Knows which picture a step belongs to: the answer's last step ends it."""

    def __init__(self, console: Console, pictures: list[Path]) -> None:
        self._console, self._pictures, self._number = console, pictures, 0

    def step(self, step: Step) -> None:
        picture = self._pictures[self._number].name
        self._console.step(f"picture {self._number + 1}/{len(self._pictures)} {picture}", step)
        if step.phase == "answer" and step.number == step.windows:
            self._number += 1


def _facts(options: argparse.Namespace, model: ClientModel, done: Classification) -> dict[str, object]:
    pairs = zip(options.pictures, done.answers, strict=True)
    return {
        "model": model.public.name,
        "artifact": model.digest,
        "set_up": asdict(done.set_up),
        "pictures": [_picture_facts(path, answer, model) for path, answer in pairs],
    }


def _picture_facts(path: Path, answer: Answer, model: ClientModel) -> dict[str, object]:
    probabilities = zip(model.public.labels, answer.probabilities.tolist(), strict=True)
    return {
        "picture": str(path),
        "label": answer.label,
        "scores": answer.scores.tolist(),
        "probabilities": dict(probabilities),
        **answer.report.to_json(),
    }


def _text(options: argparse.Namespace, model: ClientModel, done: Classification) -> str:
    lines = []
    for path, answer in zip(options.pictures, done.answers, strict=True):
        lines.append(f"{path}: {answer.label} ({answer.probabilities.max():.1%})")
        if options.probabilities:
            pairs = sorted(zip(answer.probabilities, model.public.labels, strict=True), reverse=True)
            lines += [f"    {probability:7.2%} {label}" for probability, label in pairs]
    reports = [answer.report for answer in done.answers]
    lines += [
        _cost_line("set-up", done.set_up),
        _cost_line("prepare", total(report.prepare for report in reports)),
        _cost_line("answer", total(report.answer for report in reports)),
    ]
    return "\n".join(lines)


def _cost_line(phase: str, cost: Cost) -> str:
    down, up = cost.to_client_bytes / 1e6, cost.to_server_bytes / 1e6
    return f"{phase:8} {cost.seconds:8.2f} s  {down:8.2f} MB down  {up:8.2f} MB up  {cost.flips} flips"
