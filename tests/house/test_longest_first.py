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
    gone = [it for it in longest_first.SECONDS_OF_A_TEST if not Path(tree.ROOT, it).exists()]
    assert not gone


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
