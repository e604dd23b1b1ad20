"""Renders the figures of README.md and docs/ from the rows in results/.

    python scripts/render_docs.py [--check]

`--check` changes nothing and exits with 1 where a document is not what the rows say.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from degreespar.errors import DegreeSparError
from degreespar.report.documents import documents, rendered

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description="Render the figures of the documents from results/.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a document is old")
    options = parser.parse_args()
    old = []
    try:
        for path in documents(ROOT):
            before = path.read_text(encoding="utf-8")
            after = rendered(before, ROOT / "results")
            if after != before:
                old.append(path.relative_to(ROOT))
                if not options.check:
                    path.write_text(after, encoding="utf-8")
    except DegreeSparError as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    for name in old:
        print(f"{name}: {'not what results/ says; run make docs' if options.check else 'rendered'}")
    return 1 if options.check and old else 0


if __name__ == "__main__":
    sys.exit(main())
