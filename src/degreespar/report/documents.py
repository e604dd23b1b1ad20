"""Puts rendered blocks between the markers of a document.

A block begins with `<!-- rendered from results/: NAME -->` and ends with `<!-- end -->`, each on a line
of its own.
"""

import re
from pathlib import Path

from degreespar.report.blocks import BLOCKS
from degreespar.report.rows import ReportError

_BLOCK = re.compile(
    r"^(<!-- rendered from results/: (\S+) -->)\n.*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL
)


def rendered(text: str, results: Path) -> str:
    """The document with every block as the rows now say."""

    def fill(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        if name not in BLOCKS:
            raise ReportError(f"no block is called {name!r}; there are {', '.join(BLOCKS)}")
        return f"{begin}\n{BLOCKS[name](results)}\n{end}"

    return _BLOCK.sub(fill, text)


def documents(root: Path) -> list[Path]:
    """Every document of the project that may hold blocks."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
