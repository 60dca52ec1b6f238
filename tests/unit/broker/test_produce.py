"""What a producer is refused, and why."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.stage import Client, Stage


def with_groups(stage: Stage) -> Client:
    """A client of a broker that coordinates groups."""
    client = stage.client()
    asked = FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"])
    while client.ask(asked).coordinators[0].error_code:
        stage.run(0.1)
    return client


@pytest.mark.parametrize("acks", [-1, 1])
def test_no_client_writes_what_coordinators_remember(acks: int) -> None:
    """A forged record in `__consumer_offsets` would move the offsets of somebody's group."""
    with Stage() as stage:
        row = with_groups(stage).produce(GROUP_METADATA_TOPIC, "forged", acks=acks)
        assert row.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert row.base_offset == -1
