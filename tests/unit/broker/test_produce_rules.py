"""Which batches a topic lets in, by the times of their records."""

import pytest

from odradek.broker.partitions.replicas.produce_rules import ProduceRules
from odradek.config.broker import Layers, read
from odradek.model.errors import InvalidTimestamp
from odradek.model.units import Timestamp
from odradek.records.build import build_batch
from odradek.records.record import Record

NOW = Timestamp(1_700_000_000_000)
BOUNDS = {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"}


def admitted(ago: int | None, **settings: str) -> int:
    """The time that a record has in the log; it was so long ago by its producer's clock."""
    said = BOUNDS | {name.replace("_", "."): value for name, value in settings.items()}
    config = read(Layers())[0].topic_defaults.checked(said)
    at = -1 if ago is None else NOW - ago
    batch = memoryview(build_batch([Record(0, at, b"key", b"value")]))
    return ProduceRules.of(config).admit(batch, 9, NOW)[1].max_timestamp


@pytest.mark.parametrize("ago", [0, 1_000, -1_000])
def test_what_is_near_enough_keeps_its_time(ago: int) -> None:
    """To the edges of what is allowed."""
    assert admitted(ago) == NOW - ago


@pytest.mark.parametrize("ago", [1_001, -1_001])
@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_what_lies_too_far_away_is_refused(ago: int, policy: str) -> None:
    """Retention would take it at once, or never."""
    with pytest.raises(InvalidTimestamp):
        admitted(ago, cleanup_policy=policy)


def test_a_record_may_have_no_time() -> None:
    """There is nothing to compare."""
    assert admitted(None) == -1


@pytest.mark.parametrize("ago", [5_000, -5_000, None])
@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_time_that_is_replaced_may_be_any(ago: int | None, policy: str) -> None:
    """The broker's clock counts there."""
    how = {"message_timestamp_type": "LogAppendTime", "cleanup_policy": policy}
    assert admitted(ago, **how) == NOW
