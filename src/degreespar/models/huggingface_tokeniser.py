"""The WordPiece tokeniser of a Hugging Face folder: vocab.txt or tokenizer.json, and its settings."""

from __future__ import annotations

from pathlib import Path

from degreespar.models.errors import CheckpointError
from degreespar.models.huggingface_files import read_json, write_json
from degreespar.party.errors import TextError
from degreespar.party.wordpiece import CLASS, PADDING, SEPARATOR, UNKNOWN, Tokeniser

VOCABULARY_FILE = "vocab.txt"
WHOLE_FILE = "tokenizer.json"
SETTINGS_FILE = "tokenizer_config.json"


def read_tokeniser(folder: Path) -> Tokeniser:
    """The folder's tokeniser; one that is no WordPiece is refused."""
    whole = read_json(folder / WHOLE_FILE) if (folder / WHOLE_FILE).exists() else None
    if (folder / VOCABULARY_FILE).exists():
        vocabulary = _lines(folder / VOCABULARY_FILE)
    elif whole is not None:
        vocabulary = _pieces(folder / WHOLE_FILE, whole)
    else:
        raise CheckpointError(f"{folder} has neither {VOCABULARY_FILE} nor {WHOLE_FILE}")
    try:
        return Tokeniser(vocabulary, _lower_case(folder, whole))
    except TextError as error:
        raise CheckpointError(f"{folder}: {error}") from error


def write_tokeniser(folder: Path, tokeniser: Tokeniser) -> None:
    """What `read_tokeniser` and transformers read."""
    text = "".join(f"{piece}\n" for piece in tokeniser.vocabulary)
    (folder / VOCABULARY_FILE).write_text(text, encoding="utf-8")
    special = {"pad_token": PADDING, "unk_token": UNKNOWN, "cls_token": CLASS, "sep_token": SEPARATOR}
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": tokeniser.lower_case, **special}
    write_json(folder / SETTINGS_FILE, settings)


def _lines(path: Path) -> tuple[str, ...]:
    try:
        # Not splitlines: some pieces are separators of lines to Unicode.
        return tuple(path.read_text(encoding="utf-8").removesuffix("\n").replace("\r\n", "\n").split("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read as a list of pieces") from error


def _pieces(path: Path, whole: dict[str, object]) -> tuple[str, ...]:
    model = whole.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(model, dict) or model.get("type", "WordPiece") != "WordPiece":
        raise CheckpointError(f"{path} describes no WordPiece tokeniser")
    if not isinstance(vocabulary, dict) or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise CheckpointError(f"{path} does not number its pieces from 0 on")
    return tuple(sorted(vocabulary, key=lambda piece: int(vocabulary[piece])))


def _lower_case(folder: Path, whole: dict[str, object] | None) -> bool:
    normaliser = whole.get("normalizer") if whole else None
    if isinstance(normaliser, dict) and isinstance(normaliser.get("lowercase"), bool):
        return bool(normaliser["lowercase"])
    path = folder / SETTINGS_FILE
    settings = read_json(path) if path.exists() else {}
    return settings.get("do_lower_case", True) is True
