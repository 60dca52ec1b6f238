"""docs/seeds.md and docs/where-two-meet.md name tests for what they say: each is there."""

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


def test_every_meeting_names_a_test_that_is_there() -> None:
    """The table of what several actors share."""
    named = NAMED.findall((ROOT / "docs" / "where-two-meet.md").read_text())
    assert [f"{file}::{test}" for file, test in named if not _is_there(file, test)] == []


def test_what_operators_share_has_its_rows() -> None:
    """Verbs are actors, too: what they leave behind meets the next one."""
    text = (ROOT / "docs" / "where-two-meet.md").read_text().partition("## Operators")[2]
    rows = [line.split(" | ") for line in text.splitlines() if "::" in line]
    things = " ".join(row[0] for row in rows)
    for thing in ("cordon", "throttle", "saved plan", "rolling restart", "emptied"):
        assert thing in things
    assert all(NAMED.search(row[-1]) for row in rows)


def _is_there(file: str, test: str) -> bool:
    found = [path.read_text() for path in _files(file)]
    return any(test == "*" or f"def test_{test}(" in text for text in found)


def _files(name: str) -> list[Path]:
    return [*(ROOT / "tests").rglob(f"test_{name}.py")]
