"""How many may come in, how fast, and how long they may say nothing."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.metadata import MetadataRequest
from tests.unit.broker.stage import Client, Stage

BROKER = 4


def hello(client: Client) -> int:
    """The first thing that a client says."""
    return client.send(ApiVersionsRequest("tests", "1"))


def test_who_is_too_much_waits_until_somebody_leaves() -> None:
    """Nobody is sent away: a client that comes too early has an answer later."""
    with Stage(max_connections="2") as stage:
        first, second = stage.client(), stage.client()
        first.ask(MetadataRequest(topics=None))
        second.ask(MetadataRequest(topics=None))
        third = stage.client()
        asked = hello(third)
        stage.run(60)
        assert not third.has_answer(asked)
        first.hang_up()
        assert third.answer_to(asked).error_code == 0


def test_a_listener_has_a_bound_of_its_own() -> None:
    """And the one of the broker, which may be reached before."""
    with Stage(listener_name_plaintext_max_connections="1") as stage:
        first, second = stage.client(), stage.client()
        assert first.answer_to(hello(first)).error_code == 0
        asked = hello(second)
        stage.run(60)
        assert not second.has_answer(asked)
        first.hang_up()
        assert second.answer_to(asked).error_code == 0


def test_many_who_come_at_once_come_in_one_after_the_other() -> None:
    """A second's worth at once, the rest at the rate."""
    with Stage(max_connection_creation_rate="5") as stage:
        stage.run(10)
        clients = [stage.client() for _ in range(12)]
        asked = [(client, hello(client)) for client in clients]

        def inside() -> int:
            return sum(client.has_answer(number) for client, number in asked)

        stage.run(0.05)
        at_once = inside()
        assert at_once < 7
        stage.run(1)
        assert inside() == at_once + 5
        stage.run(1)
        assert inside() == 12


def test_more_from_one_address_are_sent_away() -> None:
    """At once, so that one client cannot keep others waiting."""
    with Stage(max_connections_per_ip="1") as stage:
        first, second = stage.client(), stage.client()
        stage.run(1)
        assert second.is_closed
        assert first.answer_to(hello(first)).error_code == 0


def test_who_says_nothing_for_too_long_is_sent_away() -> None:
    """Those who talk meanwhile stay, whoever they are."""
    with Stage(connections_max_idle_ms="30000") as stage:
        silent, talking = stage.client(), stage.client()
        for _ in range(4):
            stage.run(10)
            talking.ask(MetadataRequest(topics=None))
        assert silent.is_closed
        assert not talking.is_closed


def test_half_a_request_is_silence_and_a_long_poll_is_not() -> None:
    """The one waits for nothing that will come; the other for what the broker has promised."""
    with Stage(connections_max_idle_ms="10000") as stage:
        stage.make("orders")
        halting, waiting = stage.client(), stage.client()
        halting.send_raw(b"\x00\x00\x00\x20\x00\x03")
        wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=1_000)
        topics = [FetchTopic("orders", partitions=[wanted])]
        number = waiting.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=topics))
        stage.run(20)
        assert halting.is_closed
        assert not waiting.is_closed
        stage.run(45)
        assert waiting.has_answer(number)


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
def test_nobody_can_lock_everybody_out(name: str) -> None:
    """With 0 one connection is left, for the operator who takes it back."""
    with Stage() as stage:
        config = AlterableConfig(name, 0, "0")
        resource = AlterConfigsResource(BROKER, "1", [config])
        client = stage.client()
        (answer,) = client.ask(IncrementalAlterConfigsRequest([resource])).responses
        assert answer.error_code == ErrorCode.NONE
        client.hang_up()
        stage.run(5)
        assert stage.client().ask(MetadataRequest(topics=None)).brokers
