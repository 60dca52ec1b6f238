"""Tables for people: they fit a terminal as far as they can, and nothing is cut."""

from odradek.cli.showing.aligning import aligned
from odradek.cli.showing.cells import Moment


def test_one_long_name_makes_no_other_row_wider() -> None:
    """On a terminal each of them would break into lines of blanks."""
    long = "x" * 249
    _, rows = aligned(("topic", "partitions"), [("orders", 1), (long, 20), ("a", 300)])
    assert rows == ["orders           1", f"{long}          20", "a              300"]


def test_a_table_that_fits_is_shown_as_it_is() -> None:
    """Also columns in which nothing stands: a script's author looks for them."""
    head, rows = aligned(("broker", "rack", "out of sync"), [(1, None, 0), (2, None, 0)])
    assert head == ["broker  rack  out of sync"]
    assert rows == ["     1  -               0", "     2  -               0"]


def test_a_table_that_is_too_wide_loses_what_says_nothing() -> None:
    """Why a disk failed, where none did."""
    head, rows = aligned(("dir", "since", "reason", "size"), [("a", None, "", 7)] * 2, room=12)
    assert (head, rows) == (["dir  size"], ["a       7", "a       7"])
    both = [("a", None, "it failed", 7), ("b", None, None, 7)]
    head, _ = aligned(("dir", "since", "reason", "size"), both, room=20)
    assert head == ["dir  reason     size"]


def test_titles_of_a_table_that_is_too_wide_stand_in_several_lines() -> None:
    """What identifies a producer has long names and short values."""
    row = {"topic": "orders", "partition": 0, "producer id": 4711, "producer epoch": 0}
    row |= {"last sequence": 12, "last timestamp": Moment(0), "transaction start": 501}
    head, rows = aligned(tuple(row), [tuple(row.values())])
    assert head == [
        "                 producer producer     last                      transaction",
        "topic  partition       id    epoch sequence       last timestamp       start",
    ]
    assert rows == ["orders         0     4711        0       12 1970-01-01T00:00:00Z         501"]


def test_a_few_long_values_make_no_column_wide() -> None:
    """Settings: where the value comes from stands beside it, and not far to the right."""
    values = [("log.dirs", "/disks/1,/disks/2,/disks/3,/disks/4", "file")]
    values += [(f"setting.{number}", str(number), "file") for number in range(4)]
    head, rows = aligned(("setting", "value", "source"), values, room=30)
    assert head == ["setting    value        source"]
    assert rows[0] == "log.dirs   /disks/1,/disks/2,/disks/3,/disks/4  file"
    assert rows[1] == "setting.0  0            file"


def test_a_single_row_that_is_too_wide_has_a_line_for_each_column() -> None:
    """What is known of one transaction is read from top to bottom, and not around an edge."""
    titles = ("transactional id", "state", "partitions")
    told = aligned(titles, [("payments", "Ongoing", ("orders-0", "orders-1"))], room=30)
    lines = ["transactional id: payments", "state: Ongoing", "partitions: orders-0,orders-1"]
    assert told == ([], lines)
