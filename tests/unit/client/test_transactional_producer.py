"""Our producer with a transactional id, in both versions, against a broker on the simulator."""

import pytest

from odradek.client.admin import features
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.client.records.member import committed
from odradek.client.records.reader import Reader
from odradek.client.records.transactional_producer import V1, V2, TransactionalProducer, Versions
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.records.record import Record
from tests.unit.broker.stage import Stage
from tests.unit.client.test_client import a_moment, talk

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def stage() -> Stage:
    """A broker that coordinates alone."""
    return Stage(
        transaction_state_log_replication_factor="1",
        transaction_state_log_min_isr="1",
        offsets_topic_replication_factor="1",
    )


def record(value: bytes) -> Record:
    """One that says this."""
    return Record(0, 1_700_000_000_000, None, value)


async def seen(cluster: Cluster, count: int) -> list[bytes | None]:
    """So many values that readers of committed records are shown."""
    reader = Reader(cluster, {FIRST: 0, SECOND: 0}, committed=True)
    found: list[bytes | None] = []
    while len(found) < count:
        found += [it.record.value for it in await reader.poll()]
    return sorted(found, key=str)


@pytest.mark.parametrize("versions", [V1, V2])
def test_what_is_committed_is_seen_and_what_is_aborted_is_not(versions: Versions) -> None:
    """With the positions of a group; one transaction behind the other."""

    async def conversation(cluster: Cluster) -> None:
        await features.alter(cluster, features.TRANSACTION_VERSION, 2)
        producer = TransactionalProducer(cluster, "mover", versions)
        await producer.begin()
        for number in range(3):
            values = {FIRST: [record(b"%d" % number)] * 2, SECOND: [record(b"%d" % number)]}
            await producer.send(values)
            await producer.send(values)
            await producer.commit_offsets("movers", {FIRST: 10 + number})
            await (producer.abort() if number == 1 else producer.commit())
        assert await seen(cluster, 12) == [b"0"] * 6 + [b"2"] * 6
        while await committed(cluster, "movers", [FIRST]) != {FIRST: 12}:
            await a_moment(cluster)

    with stage() as t:
        t.make("orders", 2)
        talk(t, conversation)


@pytest.mark.parametrize("versions", [V1, V2])
def test_who_begins_fences_who_was_there(versions: Versions) -> None:
    """What the former has left open is aborted, and it can end nothing more."""

    async def conversation(cluster: Cluster) -> None:
        former = TransactionalProducer(cluster, "mover", versions)
        await former.begin()
        await former.send({FIRST: [record(b"lost")]})
        latter = TransactionalProducer(cluster, "mover", versions)
        await latter.begin()
        with pytest.raises(Refused) as refusal:
            await former.commit()
        assert refusal.value.code in {
            ErrorCode.INVALID_PRODUCER_EPOCH,
            ErrorCode.PRODUCER_FENCED,
        }
        await latter.send({FIRST: [record(b"kept")]})
        await latter.commit()
        assert await seen(cluster, 1) == [b"kept"]

    with stage() as t:
        t.make("orders", 2)
        talk(t, conversation)


@pytest.mark.parametrize("versions", [V1, V2])
def test_an_identity_is_handed_to_another_process(versions: Versions) -> None:
    """It writes to other partitions in the same transaction, which the first one ends.

    The next transaction is another process's, which counts from the beginning: in version 1, whose
    epoch stays, its records would be taken for those of the transaction before, and lost.
    """

    async def conversation(cluster: Cluster) -> None:
        first = TransactionalProducer(cluster, "mover", versions)
        await first.begin()
        for number in range(3):
            other = TransactionalProducer(cluster, "mover", versions)
            other.go_on_as(await first.hand_on())
            await first.send({FIRST: [record(b"%d" % number)]})
            await other.send({SECOND: [record(b"%d" % number)]})
            await (first.abort() if number == 1 else first.commit())
        assert await seen(cluster, 4) == [b"0"] * 2 + [b"2"] * 2

    with stage() as t:
        t.make("orders", 2)
        talk(t, conversation)


@pytest.mark.parametrize("versions", [V1, V2])
def test_a_producer_may_be_handed_on_for_good(versions: Versions) -> None:
    """The next process ends the transaction and begins others; the first one is fenced by it."""

    async def conversation(cluster: Cluster) -> None:
        first = TransactionalProducer(cluster, "mover", versions)
        await first.begin()
        await first.send({FIRST: [record(b"0")]})
        other = TransactionalProducer(cluster, "mover", versions)
        identity = await first.hand_on()
        for _ in range(2):  # the second time nothing new
            other.go_on_as(identity)
            await other.send({SECOND: [record(b"0")]})
        await other.commit()
        await other.send({FIRST: [record(b"1")], SECOND: [record(b"1")]})
        await other.commit()
        assert await seen(cluster, 5) == [b"0"] * 3 + [b"1"] * 2
        with pytest.raises(Refused) as refusal:
            await first.send({FIRST: [record(b"2")]})
        assert refusal.value.code in {
            ErrorCode.INVALID_PRODUCER_EPOCH,
            ErrorCode.PRODUCER_FENCED,
        }

    with stage() as t:
        t.make("orders", 2)
        talk(t, conversation)


@pytest.mark.parametrize("versions", [V1, V2])
def test_what_was_not_acknowledged_is_not_committed(versions: Versions) -> None:
    """It may be there; the next transaction counts from the beginning, and loses nothing."""

    async def conversation(cluster: Cluster) -> None:
        producer = TransactionalProducer(cluster, "mover", versions)
        await producer.begin()
        await producer.send({FIRST: [record(b"aborted")]})
        with pytest.raises(Refused):
            await producer.send({TopicPartition("orders", 1): [record(bytes(2_000_000))]})
        with pytest.raises(Refused, match="TRANSACTION_ABORTABLE"):
            await producer.commit()
        await producer.abort()
        await producer.send({FIRST: [record(b"kept")]})
        await producer.commit()
        assert await seen(cluster, 1) == [b"kept"]

    with stage() as t:
        t.make("orders", 2)
        talk(t, conversation)
