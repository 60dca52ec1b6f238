"""What Kafka has and this broker has not is refused with a clear error, and at once."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from odradek.model.errors import ErrorCode
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest
from odradek.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from odradek.wire.messages.describe_acls import DescribeAclsRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from tests.unit.broker.stage import Stage


def test_access_control_lists_need_an_authorizer() -> None:
    """Kafka's answer where none is configured; the admin clients know it."""
    with Stage() as stage:
        client = stage.client()
        assert client.ask(DescribeAclsRequest()).error_code == ErrorCode.SECURITY_DISABLED
        (made,) = client.ask(CreateAclsRequest([AclCreation(2, "orders", 3, "User:me")])).results
        assert made.error_code == ErrorCode.SECURITY_DISABLED
        (found,) = client.ask(DeleteAclsRequest([DeleteAclsFilter(2)])).filter_results
        assert found.error_code == ErrorCode.SECURITY_DISABLED


def test_no_transaction_is_open() -> None:
    """States that do not exist are named; the ids that are asked for are not known."""
    with Stage() as stage:
        client = stage.client()
        client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["mover"]))
        listed = client.ask(ListTransactionsRequest(["Ongoing", "Nonsense"]))
        assert (listed.unknown_state_filters, listed.transaction_states) == (["Nonsense"], [])
        (row,) = client.ask(DescribeTransactionsRequest(["mover"])).transaction_states
        assert row.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_replica_stays_in_the_dir_where_it_stands() -> None:
    """To move it is refused; what is asked for where it stands already is done."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()

        def outcome(path: str, topic: str = "orders") -> ErrorCode:
            wanted = AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [0])])
            answer: Any = client.ask(AlterReplicaLogDirsRequest([wanted]))
            return ErrorCode(answer.results[0].partitions[0].error_code)

        dirs = [it.name for it in stage.running.services_of_this_life.replicas.dirs.dirs]
        moves = set(map(outcome, dirs))
        assert moves == {ErrorCode.NONE}
        with capture_logs() as lines:
            assert outcome("elsewhere") == ErrorCode.LOG_DIR_NOT_FOUND
            assert outcome(dirs[0], "nowhere") == ErrorCode.REPLICA_NOT_AVAILABLE
        assert {line["log_level"] for line in lines} <= {"debug"}  # clients are told, not operators


@pytest.mark.parametrize("version", [10, 11, 12])
def test_the_newer_versions_of_produce_are_served(version: int) -> None:
    """With acks=0 what came in a version that is not offered went missing in silence."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        assert client.produce("orders", "a", version=version).base_offset == 0
        assert client.produce("orders", "b", version=version, acks=1).base_offset == 1


def test_a_version_that_is_not_offered_is_named_with_those_that_are() -> None:
    """Not with those that the decoder knows."""
    with Stage() as stage, capture_logs() as lines:
        client = stage.client()
        client.send_raw(bytes.fromhex("0000000a 0000 000d 00000007 ffff"))
        stage.run(1)
        (line,) = [line for line in lines if line["event"] == "connection.closed"]
        assert line["reason"].endswith("Produce v13: 0 to 12 are offered")
