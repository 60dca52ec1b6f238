"""Who reads of a failed test can repeat it, and who wonders where the time went can look."""

import shlex
from typing import NamedTuple

from tests import told_at_the_end


class Told(NamedTuple):
    """Of one phase of a test, what is looked at."""

    nodeid: str
    duration: float = 1.0


UNIT = "tests/unit/model/test_ids.py::test_a"
SPARK = "tests/pipelines/test_masters.py::test_b[it's one, (two)]"


def test_a_failed_test_is_repeated_by_one_command() -> None:
    """As the shell reads it; a test that failed and could not be cleaned up is named once."""
    assert told_at_the_end.commands([Told(UNIT), Told(SPARK), Told(UNIT)], 7) == [
        f"./dev test {UNIT} --numprocesses=0 --randomly-seed=7",
        f"./dev test pipelines {shlex.quote(SPARK)} --numprocesses=0 --randomly-seed=7",
    ]


def test_without_a_seed_none_is_named() -> None:
    """Where tests do not run in random order."""
    assert told_at_the_end.command(UNIT, None) == f"./dev test {UNIT} --numprocesses=0"


def test_the_longest_part_stands_first() -> None:
    """Its preparations count, and are no test of their own."""
    told = [Told(UNIT), Told(SPARK), Told(SPARK, 2.4), Told("tests/unit/x.py::test_c")]
    assert list(told_at_the_end.parts(told)) == [
        "tests/pipelines: 3 s, tests: 1",
        "tests/unit: 2 s, tests: 2",
    ]
