"""docs/seeds.md and docs/where-two-meet.md name modules and tests: each of them is there."""

import re
from pathlib import Path

from tests.house.tree import ROOT

NAMED = re.compile(r"`([a-z0-9_]+)::([a-z0-9_]+|\*)`")
MODULE = re.compile(r"`([^` ]+\.py)`")
STEP_WHERE_SHOWN = "| step | where |"


def test_every_test_that_is_named_is_there() -> None:
    """A test that is renamed takes its name along; a star stands for all tests of a file."""
    named = NAMED.findall((ROOT / "docs" / "seeds.md").read_text())
    assert len(named) > 100
    missing = [f"{file}::{test}" for file, test in named if not _is_there(file, test)]
    assert missing == []


def test_every_module_that_is_named_is_there() -> None:
    """By its whole path: of an abbreviated one nobody can tell which of two files is meant."""
    named = MODULE.findall((ROOT / "docs" / "seeds.md").read_text())
    assert len(named) > 80
    places = (ROOT / "src" / "odradek", ROOT)
    assert [it for it in named if not any((place / it).is_file() for place in places)] == []


def test_every_step_names_a_place_and_a_test() -> None:
    """Two name no module: the one of hardware, and the one of pairs of what stands above it."""
    text = (ROOT / "docs" / "seeds.md").read_text()
    tables = [it.partition("\n\n")[0] for it in text.split(STEP_WHERE_SHOWN)[1:]]
    rows = [line.split(" | ") for table in tables for line in table.splitlines()[2:]]
    assert len(rows) > 60
    without = [row[0] for row in rows if not (MODULE.search(row[1]) and NAMED.search(row[2]))]
    assert without == ["| two things happen at once", "| operation: RAID-10 against JBOD"]


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
