"""A full disk is told, and not once a second for each of its replicas."""

from structlog.testing import capture_logs

from odradek.broker.fetching.write_failures import WriteFailures
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis


def test_a_disk_that_refuses_everything_is_told_once_a_minute() -> None:
    """The first refusal at once; the next line counts what came in between."""
    failures = WriteFailures()
    with capture_logs() as events:
        for second in range(100):
            for number in range(3):
                partition = TopicPartition("orders", number)
                failures.failed("disk-a", partition, "no space left", Millis(second * 1_000))
        failures.failed("disk-b", TopicPartition("other", 0), "no space left", Millis(100_000))
    told = [(it["log_dir"], it["partitions"], it["failures"]) for it in events]
    assert told == [("disk-a", 1, 1), ("disk-a", 3, 3 * 60), ("disk-b", 1, 1)]
    assert all(it["event"] == "follower.not_written" for it in events)
