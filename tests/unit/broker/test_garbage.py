"""What a request, or a login, leaves behind is freed at once, and is nothing for the collector.

A broker's collector looks through what is old hardly ever: a request of 100 MB in a circle that it
has once passed over would stay for good.
"""

import gc
from collections import Counter
from collections.abc import Callable

import pytest

from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.unit.broker.stage import Client
from tests.unit.broker.test_audit import Audited

LARGE = 3_000  # rows: more than are done in one turn
OURS = ("odradek.broker", "odradek.security", "odradek.wire", "odradek.peers", "odradek.quotas")


def garbage(act: Callable[[], object]) -> Counter[str]:
    """What the collector alone could free of that which this has made, by its type."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        act()
        gc.collect()
        kinds = [type(it) for it in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        if was_on:
            gc.enable()
    return Counter(
        f"{it.__module__}.{it.__name__}" for it in kinds if it.__module__.startswith(OURS)
    )


def limit(stage: Audited) -> None:
    """Everybody, to more than there is."""
    entity = [EntityData("client-id", None)]
    ops = [OpData("producer_byte_rate", 1e9), OpData("request_percentage", 1e9)]
    row = RequestEntryData(entity, ops)
    (answer,) = stage.user("root").ask(AlterClientQuotasRequest([row])).entries
    assert not answer.error_code
    stage.run(1)
    assert stage.running.socket_server.quotas.is_on


def small(client: Client) -> None:
    """Requests of one turn, refused and not."""
    client.produce("orders", "a record")
    client.fetch("orders", 0)
    client.ask(HeartbeatRequest("payments", 1, "member"))
    client.ask(MetadataRequest(topics=None))


def large(client: Client) -> None:
    """One of several turns."""
    topics = [MetadataRequestTopic(name=f"topic-{it}") for it in range(LARGE)]
    answer = client.ask(MetadataRequest(topics, allow_auto_topic_creation=False))
    assert len(answer.topics) == LARGE


@pytest.mark.parametrize("act", [small, large])
@pytest.mark.parametrize("is_limited", [False, True])
@pytest.mark.parametrize("name", ["alice", "root"])
def test_a_request_leaves_nothing_to_collect(
    act: Callable[[Client], None], name: str, *, is_limited: bool
) -> None:
    """Where it is audited, decided by rules, and counted."""
    with Audited() as stage:
        stage.user("root").ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)]))
        if is_limited:
            limit(stage)
        client = stage.user(name)
        assert not garbage(lambda: act(client))


def test_a_login_leaves_nothing_to_collect() -> None:
    """One that succeeds and one that fails; each connection ends."""
    with Audited() as stage:

        def act() -> None:
            for name, password in (("alice", ""), ("alice", "wrong"), ("root", "")):
                stage.user(name, password).hang_up()
            stage.run(1)

        act()
        assert not garbage(act)
        assert len(stage.told()) == 2  # those that failed
