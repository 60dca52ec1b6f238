"""Names in a log dir: what Kafka would write, and what it would not."""

import pytest

from odradek.model.ids import TopicPartition
from odradek.storage.files.names import (
    Kind,
    fits_future,
    parse_log_name,
    parse_segment_file,
    renamed,
    segment_stem,
)

UNIQUE = "0123456789abcdef" * 2
ORDERS = TopicPartition("my-orders", 7)


def test_a_segment_is_named_by_its_first_offset() -> None:
    """Twenty digits, so that names sort as offsets do; the suffixes tell what a file is."""
    assert segment_stem(42) == "00000000000000000042"
    file = parse_segment_file("00000000000000000042.timeindex.swap")
    assert file is not None
    assert file == (42, ".timeindex", ".swap")


@pytest.mark.parametrize(
    "name",
    ["leader-epoch-checkpoint", "42.log", f"{0:020d}.log.tmp", f"{0:020d}.what", f"{0:020d}.swap"],
)
def test_other_files_are_no_segments(name: str) -> None:
    """What does not look like a segment's file is left alone."""
    assert parse_segment_file(name) is None


def test_a_directory_says_which_log_it_is_and_why() -> None:
    """A topic may contain hyphens: the last one before the digits counts."""
    assert parse_log_name("my-orders-7") == (ORDERS, Kind.CURRENT)
    for kind in (Kind.DELETE, Kind.FUTURE, Kind.STRAY):
        assert parse_log_name(renamed(ORDERS, UNIQUE, kind)) == (ORDERS, kind)


@pytest.mark.parametrize(
    "name", ["lost+found", "orders", "orders-", "-1", "orders-x", "orders-99999999999", "or/ders-0"]
)
def test_a_directory_that_no_log_can_have(name: str) -> None:
    """Somebody else's directory is not taken for a log."""
    assert parse_log_name(name) is None


def test_a_long_name_is_cut_only_to_be_deleted() -> None:
    """A directory name has 255 bytes at most; a future log's topic must still be readable."""
    long = TopicPartition("x" * 249, 0)
    assert len(renamed(long, UNIQUE, Kind.DELETE)) == 255
    assert not fits_future(long)
    assert fits_future(ORDERS)
