"""docs/seeds.md names a test for each step of the source designs: each of them is there."""

import re
from pathlib import Path

from tests.house.tree import ROOT

NAMED = re.compile(r"`([a-z0-9_]+)::([a-z0-9_]+|\*)`")


def test_every_test_that_is_named_is_there() -> None:
    """A test that is renamed takes its name along; a star stands for all tests of a file."""
    named = NAMED.findall((ROOT / "docs" / "seeds.md").read_text())
    assert len(named) > 100
    missing = [f"{file}::{test}" for file, test in named if not _is_there(file, test)]
    assert missing == []


def _is_there(file: str, test: str) -> bool:
    found = [path.read_text() for path in _files(file)]
    return any(test == "*" or f"def test_{test}(" in text for text in found)


def _files(name: str) -> list[Path]:
    return [*(ROOT / "tests").rglob(f"test_{name}.py")]
