"""The table of tests/longest_first.py is about files that are there."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests import longest_first
from tests.house import tree


class Item(NamedTuple):
    """Of a test that was collected, what the order looks at."""

    nodeid: str


def test_what_is_named_is_there() -> None:
    """A file that was renamed would begin last, and nobody would know why the end takes so long."""
    named = [*longest_first.SECONDS_OF_A_TEST, *longest_first.SECONDS_OF_A_FILE]
    assert not [it for it in named if not Path(tree.ROOT, it).exists()]


@pytest.mark.parametrize("last", ["a", "b"])
def test_the_longest_file_begins_and_its_tests_stay_as_they_were(last: str) -> None:
    """One of many short tests, and one of a single long one."""
    short = [Item(f"tests/unit/test_x.py::{it}") for it in ("a", "b")]
    other = [Item(f"tests/unit/test_y.py::{it}[::]") for it in range(200)]
    long = [Item(f"tests/live/test_z.py::{it}") for it in ("a", "b")]
    items = [*short, *other, *sorted(long, key=lambda it: it.nodeid.endswith(last))]
    expected = [*items[-2:], *other, *short]
    longest_first.sort(items)
    assert items == expected


def test_a_file_of_one_long_test_begins_before_one_of_many_short_ones() -> None:
    """Otherwise it would be the last, alone."""
    (file, *_) = longest_first.SECONDS_OF_A_FILE
    long = Item(f"{file}::a")
    items = [*[Item(f"tests/compat/test_x.py::{it}") for it in range(50)], long]
    longest_first.sort(items)
    assert items[0] == long


def test_who_waits_shares_the_cores_with_who_computes() -> None:
    """Each kind is as far as the other at any time, and begins with its longest."""
    (waiting, *_) = longest_first.WAITING
    live = [Item(f"{waiting}test_{it}.py::a") for it in range(4)]
    scenes = [Item(f"tests/simulation/test_{it}.py::{at}") for it in range(2) for at in range(4)]
    items = [*scenes, *live]
    longest_first.sort(items)
    assert items == [*scenes[:4], *live[:2], *scenes[4:], *live[2:]]
