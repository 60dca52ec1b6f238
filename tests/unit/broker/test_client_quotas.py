"""Clients with limits: what they get within a time, how they are told, and who has none."""

from typing import Any, Final

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.units import Micros
from odradek.ports import Clock
from odradek.quotas.changes import ADDRESS, CLIENT, USER, Parts
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages import alter_client_quotas as alteration
from odradek.wire.messages import describe_client_quotas as description
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.test_access import Ruled

SECONDS: Final = 30
RATE: Final = 50_000
PAYLOAD: Final = "x" * 1_000
ALL_CLIENTS: Final[Parts] = {CLIENT: None}


def limit(stage: Stage, parts: Parts, **values: float | None) -> ErrorCode:
    """Sets quotas of an entity, or takes them away; the broker has heard of it."""
    entity = [alteration.EntityData(*it) for it in parts.items()]
    ops = [
        alteration.OpData(name, 0 if value is None else value, remove=value is None)
        for name, value in values.items()
    ]
    request = alteration.AlterClientQuotasRequest([alteration.RequestEntryData(entity, ops)])
    client = stage.client("admin")
    (row,) = client.ask(request).entries
    client.hang_up()
    stage.run(1)
    return ErrorCode(row.error_code)


def described(stage: Stage, *components: description.ComponentData, strict: bool = False) -> object:
    """Entities and their quotas."""
    request = description.DescribeClientQuotasRequest([*components], strict=strict)
    client = stage.client("admin")
    answer = client.ask(request)
    client.hang_up()
    assert not answer.error_code, answer
    return [
        (
            {it.entity_type: it.entity_name for it in entry.entity},
            {it.key: it.value for it in entry.values},
        )
        for entry in answer.entries
    ]


def now(stage: Stage) -> float:
    """Seconds of the broker's clock."""
    return stage.machine.clock.monotonic() / 1_000


def produced(stage: Stage, client: Client, topic: str, seconds: float) -> float:
    """How many bytes a second it gets in, if it sends the next at each answer."""
    begun, total = now(stage), 0
    while now(stage) < begun + seconds:
        assert not client.produce(topic, PAYLOAD).error_code
        total += len(PAYLOAD)
    return total / (now(stage) - begun)


def test_a_producer_above_its_limit_keeps_to_it() -> None:
    """It is answered at once, with the time that it will not be heard."""
    with Stage() as stage:
        stage.make("orders")
        assert limit(stage, {CLIENT: "hasty"}, producer_byte_rate=RATE) is ErrorCode.NONE
        hasty, other = stage.client("hasty"), stage.client("other")
        assert produced(stage, hasty, "orders", SECONDS) == pytest.approx(RATE, rel=0.1)
        assert stage.running.socket_server.quotas.throttled
        assert produced(stage, other, "orders", 1) > 3 * RATE


def test_who_does_not_wait_is_not_heard() -> None:
    """The first request that is too much is told the pause; those behind it wait for its end."""
    with Stage() as stage:
        stage.make("orders")
        limit(stage, {CLIENT: "hasty"}, producer_byte_rate=1_000)
        client = stage.client("hasty")
        batch = build_batch([Record(0, 1_000, None, PAYLOAD.encode())])
        data = [PartitionProduceData(0, batch)]
        request = ProduceRequest(None, 1, 1_000, [TopicProduceData("orders", partition_data=data)])
        numbers: list[int] = []
        for _ in range(20):
            numbers.append(client.send(request))
            stage.run(0.01)
        heard = [number for number in numbers if client.has_answer(number)]
        told = [client.answer_to(number).throttle_time_ms for number in heard]
        assert told[0] == 0
        assert told[-1] > 0
        assert len(heard) < 15
        for number in numbers[len(heard) :]:
            answer = client.answer_to(number, seconds=120).responses[0]
            assert not answer.partition_responses[0].error_code


def test_a_consumer_above_its_limit_gets_answers_without_records() -> None:
    """It asks again, and has all in the end; the session of its fetches goes on."""
    with Stage() as stage:
        stage.make("orders")
        producer = stage.client("producer")
        values = [PAYLOAD] * 5
        for _ in range(300):
            producer.produce("orders", *values)
        limit(stage, {CLIENT: "hasty"}, consumer_byte_rate=RATE)
        client, begun, offset, empty = stage.client("hasty"), now(stage), 0, 0
        while offset < 1_500:
            row = [FetchPartition(0, fetch_offset=offset, partition_max_bytes=5_200)]
            request = FetchRequest(
                max_wait_ms=0, session_epoch=0, topics=[FetchTopic("orders", partitions=row)]
            )
            answer = client.ask(request)
            assert not answer.error_code
            if not answer.responses or not answer.responses[0].partitions[0].records:
                empty += 1
                assert answer.throttle_time_ms
                continue
            offset += 5
        assert empty
        at_once, total = 10 * RATE, 1_500 * len(PAYLOAD)
        assert total / RATE > now(stage) - begun > 0.9 * (total - at_once) / RATE


def test_a_batch_above_all_that_is_allowed_is_read_after_all() -> None:
    """By a client that has had nothing for long."""
    with Stage() as stage:
        stage.make("orders")
        stage.client("producer").produce("orders", "x" * 50_000)
        limit(stage, ALL_CLIENTS, consumer_byte_rate=100)
        found = stage.client("slow").fetch("orders", 0)
        assert found.records


def test_partitions_are_made_and_deleted_at_a_rate() -> None:
    """What the credit has left may be exceeded once; then it is refused until it is paid back."""
    with Stage() as stage:
        limit(stage, ALL_CLIENTS, controller_mutation_rate=1)
        client = stage.client()

        def make(name: str, partitions: int, version: int | None = None) -> tuple[ErrorCode, int]:
            request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)])
            answer = client.ask(request, version)
            return ErrorCode(answer.topics[0].error_code), answer.throttle_time_ms

        assert make("a", 8) == (ErrorCode.NONE, 0)
        assert make("b", 6) == (ErrorCode.NONE, 0)  # 3 were left
        code, pause = make("c", 1)
        assert code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert 0 < pause <= 3_000
        grown = CreatePartitionsRequest([CreatePartitionsTopic("a", 9, assignments=None)])
        assert stage.client().ask(grown).results[0].error_code == code
        deleted = DeleteTopicsRequest([DeleteTopicState("a")])
        assert stage.client().ask(deleted).responses[0].error_code == code
        stage.run(4)
        assert make("c", 3) == (ErrorCode.NONE, 0)
        code, pause = make("d", 2, 5)  # an old client, which does not know the refusal
        assert code is ErrorCode.NONE
        assert pause
        request = CreateTopicsRequest([CreatableTopic("e", 100, 1)], validate_only=True)
        assert not client.ask(request).topics[0].error_code


def test_connections_from_an_address_come_in_at_a_rate() -> None:
    """What is too much is closed, after it was left waiting; brokers' own are not counted here."""
    with Stage() as stage:
        limit(stage, {ADDRESS: None}, connection_creation_rate=1)
        clients = [stage.client() for _ in range(20)]
        stage.run(5)
        gone = [client for client in clients if client.is_closed]
        assert 5 < len(gone) < 15
        kept = next(client for client in clients if not client.is_closed)
        assert not kept.ask(ApiVersionsRequest("tests", "1")).error_code
        stage.run(20)
        assert not stage.client().ask(ApiVersionsRequest("tests", "1")).error_code


def test_quotas_are_described_as_they_were_set() -> None:
    """By entity, as KIP-546 asks for them; they are in the tree where Kafka has them."""
    with Stage() as stage:
        limit(stage, {USER: "al ice", CLIENT: None}, producer_byte_rate=1_000)
        limit(stage, {USER: "al ice"}, consumer_byte_rate=2_000, request_percentage=12.5)
        limit(stage, {ADDRESS: "10.0.0.1"}, connection_creation_rate=7)
        assert limit(stage, {ADDRESS: "10.0.0.1", USER: "b"}, connection_creation_rate=7)
        assert limit(stage, {USER: "b"}, connection_creation_rate=7) is ErrorCode.INVALID_REQUEST
        everything = [
            ({"user": "al ice"}, {"consumer_byte_rate": 2_000, "request_percentage": 12.5}),
            ({"user": "al ice", "client-id": None}, {"producer_byte_rate": 1_000}),
            ({"ip": "10.0.0.1"}, {"connection_creation_rate": 7}),
        ]
        assert described(stage) == everything
        exact = description.ComponentData("user", 0, "al ice")
        assert described(stage, exact) == everything[:2]
        assert described(stage, exact, strict=True) == everything[:1]
        default = description.ComponentData("client-id", 1, None)
        assert described(stage, exact, default, strict=True) == everything[1:2]
        limit(stage, {USER: "al ice"}, consumer_byte_rate=None, request_percentage=None)
        assert described(stage) == everything[1:]


def test_a_quota_outlives_the_broker_and_one_that_is_gone_does_not() -> None:
    """A broker that starts reads what there is, below users, too."""
    with Stage() as stage:
        stage.make("orders")
        limit(stage, {USER: "ANONYMOUS", CLIENT: "hasty"}, producer_byte_rate=RATE)
        stage.stop()
        stage.start()
        hasty = stage.client("hasty")
        assert produced(stage, hasty, "orders", SECONDS) == pytest.approx(RATE, rel=0.1)
        limit(stage, {USER: "ANONYMOUS", CLIENT: "hasty"}, producer_byte_rate=None)
        assert produced(stage, hasty, "orders", 1) > 3 * RATE
        assert not stage.running.socket_server.quotas.is_on


def test_a_client_that_pauses_may_go_and_the_broker_may_stop() -> None:
    """Nothing waits for the end of a pause."""
    with Stage() as stage:
        stage.make("orders")
        limit(stage, ALL_CLIENTS, producer_byte_rate=1)
        one, other = stage.client(), stage.client()
        one.produce("orders", PAYLOAD)
        other.produce("orders", PAYLOAD)
        one.hang_up()
        stage.run(1)
        begun = now(stage)
        stage.stop()
        assert now(stage) - begun < 3


def test_a_pause_ends_with_its_connection() -> None:
    """Or who comes, is told to pause for days, and goes would leave something each time."""
    with Stage() as stage:
        stage.make("orders")
        limit(stage, ALL_CLIENTS, producer_byte_rate=1)
        quotas = stage.running.socket_server.quotas
        one, other = stage.client(), stage.client()
        for client in (one, other):
            client.produce("orders", PAYLOAD)
        assert len(quotas.paused()) == 2
        for connection in [*stage.running.socket_server.connections]:
            connection.hang_up("it is gone")
        assert not quotas.paused()
        assert not quotas._timers_of


def test_a_client_id_counts_by_its_beginning() -> None:
    """Each that is new is remembered for a while, and one may have 32 KiB."""
    with Stage() as stage:
        stage.make("orders")
        limit(stage, ALL_CLIENTS, producer_byte_rate=RATE)
        quotas = stage.running.socket_server.quotas
        for end in ("a", "b"):
            stage.client("%" * 255 + end * 10_000).produce("orders", PAYLOAD)
        (share,) = {share for _, share in quotas._rates}
        assert share.client == "%25" * 255


class BusyClock:
    """What is done in the simulator takes no time: here each request takes a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def micros(self) -> Micros:
        """Later than when the request came."""
        return Micros(self._clock.micros() + 1_000_000)


def test_who_asks_what_brokers_ask_has_the_limits_of_a_client() -> None:
    """As Kafka does: a request that is refused for want of ClusterAction takes its time, too."""
    asks = AllocateProducerIdsRequest(broker_id=1, broker_epoch=1)
    with Ruled() as stage:
        limit(stage, ALL_CLIENTS, request_percentage=1)
        quotas = stage.running.socket_server.quotas
        quotas._clock = BusyClock(quotas._clock)
        assert not stage.client("broker").ask(asks).throttle_time_ms
        stranger = stage.under()
        quotas = stage.running.socket_server.quotas
        quotas._clock = BusyClock(quotas._clock)
        answer = stranger.ask(asks)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert answer.throttle_time_ms
