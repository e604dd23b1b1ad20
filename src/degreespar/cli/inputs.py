"""What a client brings: pictures for a model of pictures, texts for a model of texts."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from degreespar.artifact import Client, PublicPart, TextPart
from degreespar.artifact.errors import WrongKindError
from degreespar.engine.ring import Integers
from degreespar.errors import DegreeSparError
from degreespar.party.pictures import read_pictures, to_patches
from degreespar.party.texts import Text, read_text, to_rows

SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Inputs:
    """Inputs of one public length class, and how to call them."""

    names: list[str]
    tokens: int
    rows: Integers
    cut: int
    """How many texts were longer than the model takes, and lost their end."""


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """PICTURE, --text, --text-file, --pair."""
    parser.add_argument("--text", action="append", default=[], help="a text (again for several)")
    parser.add_argument(
        "--text-file", type=Path, action="append", default=[], metavar="FILE", help="a text in UTF-8"
    )
    parser.add_argument(
        "--pair", nargs=2, action="append", default=[], metavar=("FIRST", "SECOND"), help="two texts"
    )
    parser.add_argument("pictures", type=Path, nargs="*", metavar="PICTURE")


def any_given(options: argparse.Namespace) -> bool:
    """Whether the command line names an input."""
    return bool(options.pictures or options.text or options.text_file or options.pair)


def read_inputs(options: argparse.Namespace, public: PublicPart, client: Client) -> Inputs:
    """All of them, as the program takes them."""
    if not any_given(options):
        raise DegreeSparError("there is nothing to classify: name pictures, or give --text or --text-file")
    if isinstance(client, TextPart):
        return _texts(options, public, client)
    if len(options.pictures) == 0 or options.text or options.text_file or options.pair:
        raise WrongKindError(f"{public.name} takes pictures, not texts")
    geometry = public.pictures
    patches = to_patches(read_pictures(options.pictures, geometry), geometry, client)
    return Inputs([str(path) for path in options.pictures], geometry.tokens, patches, 0)


def _texts(options: argparse.Namespace, public: PublicPart, client: TextPart) -> Inputs:
    if options.pictures:
        raise WrongKindError(f"{public.name} takes texts, not pictures")
    given: list[tuple[str, Text]] = [(shown(text), (text, None)) for text in options.text]
    given += [(str(path), (read_text(path), None)) for path in options.text_file]
    given += [(shown(first), (first, second)) for first, second in options.pair]
    made = to_rows([text for _, text in given], public, client)
    return Inputs([name for name, _ in given], made.tokens, made.rows, sum(made.cut))


def shown(text: str) -> str:
    """The beginning of a text, in one printable line."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 3]}..."
