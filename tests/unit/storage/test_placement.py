"""In which dir a new log is made."""

import pytest

from odradek.storage.dirs.placement import Candidate, choose_dir
from odradek.storage.errors import StorageError
from tests.unit.storage.test_log_dirs import NEW, NOW, Host, part

A, B, C = Candidate("a", 3), Candidate("b", 1), Candidate("c", 1)


def test_the_fewest_logs_and_then_the_order_of_the_setting() -> None:
    """Kafka's rule, so that an operator finds logs where Kafka would have put them."""
    assert choose_dir([A, B, C]) == "b"
    assert choose_dir([A, C, B]) == "c"
    assert choose_dir([]) is None


def test_a_requested_dir_is_obeyed_while_it_serves() -> None:
    """Also if it is cordoned: the operator asked for it by name."""
    assert choose_dir([A, B], "a") == "a"
    assert choose_dir([A._replace(cordoned=True), B], "a") == "a"
    assert choose_dir([A, B], "offline") == "b"


def test_a_cordoned_dir_takes_nothing_unasked() -> None:
    """Where all are, a log cannot be made."""
    assert choose_dir([A, B._replace(cordoned=True)]) == "a"
    assert choose_dir([B._replace(cordoned=True)]) is None


def test_the_log_dirs_follow_the_rule() -> None:
    """With the logs that are on their way, and those that were tried in vain."""
    h = Host(3)
    assert h.dirs.choose(part(0)) == "disk-0"
    assert h.dirs.choose(part(0), begun={"disk-0": 2, "disk-1": 1, "gone": 9}) == "disk-2"
    assert h.dirs.choose(part(0), refused=["disk-0"]) == "disk-1"
    for log_dir in h.dirs.dirs[:2]:
        log_dir.set_cordoned(is_cordoned=True)
    assert h.dirs.choose(part(0)) == "disk-2"
    h.dirs.failures.report("disk-2", OSError("gone"))
    assert h.dirs.choose(part(0)) is None
    with pytest.raises(StorageError, match="no log dir has room"):
        h.dirs.get_or_create(part(0), NEW, NOW)
    h.dirs.preferred[part(0)] = "disk-1"
    assert h.dirs.choose(part(0)) == "disk-1"
