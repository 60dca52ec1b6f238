"""Logs of two topics that had the same name, in two dirs: both are kept until it is decided."""

import pytest

from odradek.model.ids import TopicId
from odradek.sim.doors.disk_faults import Fault
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.errors import LogDirOffline, StorageError
from tests.unit.storage.test_log_dirs import CONFIG, NEW, NOW, TOPIC_ID, Host, fill, part

EARLIER = TopicId(b"an earlier topic")
ORDERS = part(0)


def host() -> Host:
    """Its first dir has the log of an earlier topic, the second that of the present one."""
    h = Host(2)
    for log_dir, topic_id, values in zip(
        h.dirs.dirs, (EARLIER, TOPIC_ID), ("ab", "c"), strict=True
    ):
        log = log_dir.create(ORDERS, str(ORDERS), InDir(CONFIG, topic_id, is_new=True), NOW)
        log_dir.logs[ORDERS] = log
        fill(log, *values)
        log.on_high_watermark(log.log_end_offset)
    return h


@pytest.mark.parametrize("clean", [True, False])
def test_neither_of_two_topics_is_served_and_neither_goes(*, clean: bool) -> None:
    """However often the broker starts before the controller speaks."""
    h = host()
    for _ in range(3):
        h.restart(clean=clean)
        assert h.dirs.get(ORDERS) is None
        assert list(h.dirs) == []
        contested = h.dirs.contested(ORDERS)
        assert {it: log_dir.name for it, log_dir in contested.items()} == {
            EARLIER: "disk-0",
            TOPIC_ID: "disk-1",
        }
        assert list(h.dirs.topic_ids()) == [(ORDERS, EARLIER), (ORDERS, TOPIC_ID)]
        assert [len(log_dir) for log_dir in h.dirs.dirs] == [1, 1]
        assert not any(log_dir.to_delete for log_dir in h.dirs.dirs)


def test_the_log_of_the_topic_that_is_named_is_the_current_one() -> None:
    """The other is put away; checkpoints spoke of both meanwhile."""
    h = host()
    h.restart(clean=True)
    h.restart(clean=True)
    ((put_away_in, put_away),) = h.dirs.decide(ORDERS, TOPIC_ID)
    assert (put_away_in.name, put_away.topic_id) == ("disk-0", EARLIER)
    found = h.dirs.get(ORDERS)
    assert found is not None
    assert (found.topic_id, found.log_end_offset, found.high_watermark) == (TOPIC_ID, 1, 1)
    h.dirs.discard(put_away_in, put_away)
    h.restart()
    again = h.dirs.get(ORDERS)
    assert again is not None
    assert again.topic_id == TOPIC_ID
    assert h.dirs.dirs[0].to_delete


def test_a_third_topic_has_neither() -> None:
    """Neither has its records, so both are put away."""
    h = host()
    h.restart()
    forgotten = h.dirs.decide(ORDERS, TopicId(b"one more topic's"))
    assert [log.topic_id for _, log in forgotten] == [EARLIER, TOPIC_ID]
    assert h.dirs.get(ORDERS) is None
    assert h.dirs.contested(ORDERS) == {}


def test_a_deleted_partition_loses_contested_logs() -> None:
    """All of them go, so that none is found by the next start."""
    h = host()
    h.restart()
    h.dirs.delete(ORDERS)
    h.restart()
    assert h.dirs.get(ORDERS) is None
    assert h.dirs.contested(ORDERS) == {}
    assert all(log_dir.to_delete for log_dir in h.dirs.dirs)


def test_a_dir_that_fails_takes_its_contested_log_along() -> None:
    """The other one waits on: it may be of the earlier topic."""
    h = host()
    h.restart()
    h.disks[1].faults.rows.append(Fault(calls=frozenset({"rename"})))
    true = h.dirs.contested(ORDERS)[TOPIC_ID]
    with pytest.raises(LogDirOffline):
        h.dirs.discard(true, true.contested[ORDERS])
    h.dirs.handle_failures()
    assert list(h.dirs.contested(ORDERS)) == [EARLIER]
    assert not true.contested
    assert h.dirs.get(ORDERS) is None


def test_a_log_that_does_not_say_of_which_topic_it_is_is_for_a_person() -> None:
    """It may be of either."""
    h = host()
    h.disks[0].unlink(f"{ORDERS}/partition.metadata")
    with pytest.raises(StorageError, match="more than one log: in disk-0, disk-1"):
        h.restart()


def test_a_move_that_a_crash_interrupted_is_settled_within_its_topic() -> None:
    """Of three logs two are of one topic: the one that moved here last, and the old one."""
    h = Host(3)
    for log_dir, topic_id in zip(h.dirs.dirs, (EARLIER, TOPIC_ID, TOPIC_ID), strict=True):
        log = log_dir.create(ORDERS, str(ORDERS), InDir(CONFIG, topic_id, is_new=True), NOW)
        fill(log, "a")
    h.disks[2].open(f"{ORDERS}/moved-here", create=True).write([b"disk-1"], 0)
    h.restart()
    assert {it: log_dir.name for it, log_dir in h.dirs.contested(ORDERS).items()} == {
        EARLIER: "disk-0",
        TOPIC_ID: "disk-2",
    }
    assert h.dirs.dirs[1].to_delete


@pytest.mark.parametrize("after", ["exit", "crash"])
def test_a_log_that_was_put_away_does_not_come_back(after: str) -> None:
    """Its new name was there, but not durable: the disk failed at that moment.

    What the next start finds, the controller is told of; so it stays as it was found.
    """
    h = Host(1)
    fill(h.dirs.get_or_create(ORDERS, NEW, NOW), "a")
    h.disks[0].faults.rows.append(Fault(calls=frozenset({"sync_directory"}), path="", times=1))
    with pytest.raises(LogDirOffline):
        h.dirs.delete(ORDERS)
    h.come_back("exit")
    assert h.dirs.get(ORDERS) is None
    h.come_back(after)
    assert h.dirs.get(ORDERS) is None
