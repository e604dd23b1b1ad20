"""`degreespar export RUN`: the result of a finished `degreespar compress` as an artifact."""

import argparse
from pathlib import Path

from degreespar.cli.console import Console
from degreespar.cli.extras import extra
from degreespar.errors import DegreeSparError

RUN_FILES = ("config.json", "metrics.jsonl")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """--out; everything else a run knows itself."""
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the same as DIR; all that the folder of a run needs"
    )


def is_run(folder: Path) -> bool:
    """Whether `degreespar compress` made the folder."""
    return all((folder / name).exists() for name in RUN_FILES)


def check_checkpoint_options(options: argparse.Namespace) -> None:
    """What exporting a checkpoint needs beyond what exporting a run does."""
    options.folder = options.folder or options.out
    for name, there in (("DIR", options.folder), ("--name", options.name)):
        if there is None:
            raise DegreeSparError(f"exporting a checkpoint needs {name}")
    if not (options.data or options.pictures or options.texts):
        raise DegreeSparError("exporting a checkpoint needs --data, --pictures or --texts to calibrate on")


def export_finished(options: argparse.Namespace, console: Console) -> None:
    """Folds, quantises and writes; the bounds were calibrated when the run finished."""
    with extra("train", "export"):
        from degreespar.training.deploy import export_run
    folder = options.folder or options.out
    if folder is None:
        raise DegreeSparError("exporting a run needs --out")
    name = options.name or options.checkpoint.resolve().name
    digest = export_run(options.checkpoint, folder, name)
    console.result(
        {"artifact": digest, "folder": str(folder), "name": name}, f"artifact {digest} in {folder}"
    )
