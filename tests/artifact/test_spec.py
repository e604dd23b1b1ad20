"""The specification, the errors and the tests name the same rules."""

import ast
import inspect
import re
from pathlib import Path

from degreespar.artifact import ArtifactError, errors

HERE = Path(__file__).parent
SPEC = HERE.parents[1] / "docs" / "spec" / "artifact.md"


def spec_rules() -> dict[str, str | None]:
    """The number of each MUST line, with the error named on it, if a reader can see the rule broken."""
    lines = re.findall(r"^- \*\*(A-\d\d)\*\*(?: \(`(\w+)`\))? (.*?)(?=^\S|\Z)", SPEC.read_text(), re.M | re.S)
    assert all("MUST" in text for _, _, text in lines)
    return {rule: error or None for rule, error, _ in lines}


def test_rules_are_numbered_without_gaps() -> None:
    assert list(spec_rules()) == [f"A-{number:02}" for number in range(1, 30)]


def test_each_error_belongs_to_one_rule() -> None:
    classes = {
        name: value
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, ArtifactError) and value is not ArtifactError
    }
    named = {error: rule for rule, error in spec_rules().items() if error}
    assert {name: (value.__doc__ or "")[:4] for name, value in classes.items()} == named


def test_each_rule_has_a_test() -> None:
    names = [
        node.name
        for path in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    tested = {f"A-{match[1]}" for name in names if (match := re.match(r"test_a(\d\d)_", name))}
    assert tested == set(spec_rules())
