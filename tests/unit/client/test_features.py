"""What a cluster has agreed upon, raised and lowered by an operator."""

import asyncio

from odradek.client.admin import features, transactions
from odradek.client.admin.features import Feature
from odradek.client.cluster import Cluster
from odradek.client.coordinators import TRANSACTION
from odradek.model.ids import TopicPartition
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import ProduceRequest
from tests.samples.transactions import one_record
from tests.unit.broker.stage import Stage
from tests.unit.client.test_client import a_moment, talk

NAME = features.TRANSACTION_VERSION
ORDERS = TopicPartition("orders", 0)


async def level(cluster: Cluster) -> int:
    """As brokers say."""
    (found,) = await features.describe(cluster)
    assert found == Feature(NAME, found.level, 2)
    return found.level


def test_the_level_falls_once_open_transactions_have_ended() -> None:
    """Clients hear at once that they shall begin no others in version 2."""

    async def conversation(cluster: Cluster) -> None:
        await features.alter(cluster, NAME, 2)
        began = await cluster.ask_coordinator(
            "mover", InitProducerIdRequest("mover", 60_000), TRANSACTION
        )
        batch = one_record(0, producer=began.producer_id)
        await (await cluster.leader(ORDERS)).ask(ProduceRequest("mover", -1, 5_000, batch), 12)
        assert [*await transactions.started(cluster)] == ["mover"]
        told: list[str] = []
        falls = asyncio.ensure_future(features.alter(cluster, NAME, 0, told.append))
        for _ in range(20):
            await a_moment(cluster)
        assert not falls.done()
        assert (await level(cluster), {*told}) == (1, {"mover"})
        end = EndTxnRequest("mover", began.producer_id, began.producer_epoch, committed=True)
        connection = await cluster.coordinator("mover", TRANSACTION)
        ended = await connection.ask(end, 5)
        batch = one_record(0, producer=ended.producer_id, epoch=ended.producer_epoch)
        await (await cluster.leader(ORDERS)).ask(ProduceRequest("mover", -1, 5_000, batch), 12)
        await falls  # its next one does not count
        assert await level(cluster) == 0
        assert [*await transactions.started(cluster)] == ["mover"]
        end = EndTxnRequest("mover", ended.producer_id, ended.producer_epoch, committed=True)
        assert not (await connection.ask(end, 5)).error_code

    with Stage(
        transaction_state_log_replication_factor="1", transaction_state_log_min_isr="1"
    ) as stage:
        stage.make("orders")
        talk(stage, conversation)
