"""Transactions that this broker coordinates and leads itself, as producers and operators see."""

from typing import NamedTuple

from odradek.broker.partitions.replicas.confirmations import Question
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.test_transactions_by_the_wire import last_stable

ID = "copier"
GROUP = "copiers"
NONE = ErrorCode.NONE
V1, V2 = 4, 5
SMALL = "3"


class Me(NamedTuple):
    """Who a producer is."""

    producer_id: int
    epoch: int


class Copier:
    """A producer in either version of transactions."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.me = Me(-1, -1)
        for kind, key in enumerate((GROUP, ID)):
            client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))

    def begin(self, *, as_before: bool = False) -> ErrorCode:
        """InitProducerId."""
        who = self.me if as_before else Me(-1, -1)
        answer = self.client.ask(InitProducerIdRequest(ID, 60_000, *who))
        if not answer.error_code:
            self.me = Me(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def add(self, *partitions: int) -> list[ErrorCode]:
        """AddPartitionsToTxn."""
        topics = [AddPartitionsToTxnTopic("orders", list(partitions))]
        answer = self.client.ask(AddPartitionsToTxnRequest((), ID, *self.me, topics), 3)
        (topic,) = answer.results_by_topic_v3_and_below
        return [ErrorCode(row.partition_error_code) for row in topic.results_by_partition]

    def produce(
        self, partition: int, sequence: int, version: int, me: Me | None = None
    ) -> ErrorCode:
        """One record."""
        who = me or self.me
        batch = build_batch(
            [Record(0, 1_700_000_000_000, None, b"a")],
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = [PartitionProduceData(partition, batch)]
        topics = [TopicProduceData("orders", partition_data=data)]
        answer = self.client.ask(ProduceRequest(ID, -1, 5_000, topics), version)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def commit_offset(self, offset: int, version: int) -> ErrorCode:
        """TxnOffsetCommit."""
        rows = [TxnOffsetCommitRequestPartition(0, offset)]
        topics = [TxnOffsetCommitRequestTopic("orders", rows)]
        request = TxnOffsetCommitRequest(ID, GROUP, *self.me, topics=topics)
        return ErrorCode(self.client.ask(request, version).topics[0].partitions[0].error_code)

    def end(self, version: int, me: Me | None = None, *, committed: bool = True) -> EndTxnResponse:
        """EndTxn."""
        answer = self.client.ask(EndTxnRequest(ID, *(me or self.me), committed), version)
        assert isinstance(answer, EndTxnResponse)
        return answer

    def committed(self) -> int:
        """Of the group, once it is stable."""
        wanted = OffsetFetchRequestTopics("orders", partition_indexes=[0])
        group = OffsetFetchRequestGroup(GROUP, topics=[wanted])
        while True:
            answer = self.client.ask(OffsetFetchRequest(groups=[group], require_stable=True), 8)
            row = answer.groups[0].topics[0].partitions[0]
            if not row.error_code:
                return int(row.committed_offset)
            self.client.stage.run(0.01)


def stable_at(client: Client, offset: int) -> None:
    """Readers of committed records get so far."""
    for _ in range(200):
        if last_stable(client) == offset:
            return
        client.stage.run(0.01)
    raise AssertionError(last_stable(client))


def test_a_transaction_of_version_1() -> None:
    """Records and offsets are there together; what was not added is refused."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders", 2)
        t = Copier(stage.client())
        assert t.begin() is NONE
        assert t.add(0) == [NONE]
        assert t.produce(0, 0, 11) is NONE
        assert t.produce(1, 0, 11) is ErrorCode.TRANSACTION_ABORTABLE
        added = t.client.ask(AddOffsetsToTxnRequest(ID, *t.me, GROUP))
        assert added.error_code == NONE
        assert t.commit_offset(5, 4) is NONE
        assert last_stable(t.client) == 0
        assert t.end(V1).error_code == NONE
        assert t.committed() == 5
        stable_at(t.client, 2)  # the record and its marker
        assert t.add(0, 7) == [
            ErrorCode.OPERATION_NOT_ATTEMPTED,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]


def test_offsets_of_a_group_that_nobody_has_asked_for() -> None:
    """Some producers look for the group's coordinator only afterwards: the topic is made."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        client = stage.client()
        client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]))
        begun = client.ask(InitProducerIdRequest(ID, 60_000))
        request = AddOffsetsToTxnRequest(ID, begun.producer_id, begun.producer_epoch, GROUP)
        assert client.ask(request).error_code == NONE
        assert client.ask(EndTxnRequest(ID, begun.producer_id, 0, True), V1).error_code == NONE  # noqa: FBT003


def test_a_transaction_over_a_restart() -> None:
    """It is open as before, and what was decided is carried out."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders")
        t = Copier(stage.client())
        t.begin()
        t.add(0)
        assert t.produce(0, 0, 11) is NONE
        stage.kill()
        stage.start()
        t.client = stage.client()
        for _ in range(200):
            if not t.produce(0, 1, 11):
                break
            stage.run(0.05)
        assert t.end(V1, committed=False).error_code == NONE
        stable_at(t.client, 3)
        (state,) = t.client.ask(DescribeTransactionsRequest([ID])).transaction_states
        assert (state.transaction_state, state.producer_id) == ("CompleteAbort", t.me.producer_id)


def test_what_operators_see() -> None:
    """The list can be narrowed, and states that do not exist are named."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders", 2)
        t = Copier(stage.client())
        t.begin()
        t.add(1, 0)
        stage.run(5)

        def listed(*states: str, duration: int = -1) -> list[str]:
            answer = t.client.ask(ListTransactionsRequest(states, (), duration))
            return [it.transactional_id for it in answer.transaction_states]

        assert listed() == listed("Ongoing") == listed(duration=1_000) == [ID]
        assert listed("Empty") == listed(duration=60_000) == []
        (state,) = t.client.ask(DescribeTransactionsRequest([ID])).transaction_states
        assert [(it.topic, list(it.partitions)) for it in state.topics] == [("orders", [0, 1])]
        (state,) = t.client.ask(DescribeTransactionsRequest([""])).transaction_states
        assert state.error_code == ErrorCode.INVALID_REQUEST


def test_lists_by_patterns_are_not_offered() -> None:
    """A client that knows version 2 of ListTransactions is told of 1, which has none (KIP-1152).

    Python's own patterns may take for ever; those that cannot come with another library.
    """
    with Stage() as stage:
        rows = stage.client().ask(ApiVersionsRequest("me", "1"), 3).api_keys
        (offered,) = (it for it in rows if it.api_key == ListTransactionsRequest.KEY)
        assert (offered.min_version, offered.max_version) == (0, 1)


def set_level(client: Client, level: int, *, kind: int = 1) -> ErrorCode:
    """UpdateFeatures."""
    update = FeatureUpdateKey("transaction.version", level, upgrade_type=kind)
    return ErrorCode(client.ask(UpdateFeaturesRequest(feature_updates=[update])).error_code)


def finalized(client: Client) -> tuple[int, list[tuple[str, int]]]:
    """What clients are told."""
    answer = client.ask(ApiVersionsRequest("test", "1"))
    levels = [(it.name, it.max_version_level) for it in answer.finalized_features]
    return answer.finalized_features_epoch, levels


def test_an_end_waits_for_no_producer_id() -> None:
    """It needs none, and the controller that gives them may be what has just died."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders", 2)
        t = Copier(stage.client())
        assert t.begin() is NONE
        assert t.add(0) == [NONE]
        stage.stop()
        stage.start()
        t.client = stage.client()
        ids = stage.running.services_of_this_life.producer_ids
        assert ids.is_empty
        assert t.end(V1).error_code == NONE
        assert ids.is_empty


def test_a_question_about_partitions_that_are_not_there_is_answered() -> None:
    """A broker that asks itself waits for nothing then, and stops."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders", 2)
        t = Copier(stage.client())
        assert t.begin() is NONE
        told: list[ErrorCode] = []
        questions = stage.running.services_of_this_life.questions

        async def ask() -> None:
            asked = Question(ID, *t.me, adds=True)
            questions.ask(asked, TopicPartition("orders", 9), told.append)

        stage.world.ask("broker", ask())
        stage.run(1)
        assert len(told) == 1
        stage.stop()


def test_who_may_have_been_replaced_lists_no_ids() -> None:
    """Another broker may coordinate them by now."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders", 2)
        t = Copier(stage.client())
        listed = ListTransactionsRequest((), (), -1)
        assert t.client.ask(listed).error_code == NONE
        assert t.begin() is NONE
        assert [it.transactional_id for it in t.client.ask(listed).transaction_states] == [ID]
        stage.running.services_of_this_life.transactions.may_answer = lambda: False
        answer = t.client.ask(listed)
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert not answer.transaction_states


def test_features_from_0_on_are_told_to_those_who_know_of_them() -> None:
    """Java's clients of before take a connection for broken by them (KAFKA-17011)."""
    with Stage() as stage:
        client = stage.client()
        for version, told in ((3, []), (4, [("transaction.version", 0, 2)])):
            answer = client.ask(ApiVersionsRequest("apache-kafka-java", "3.4.1"), version)
            features = answer.supported_features
            assert [(it.name, it.min_version, it.max_version) for it in features] == told


def test_the_level_of_the_cluster() -> None:
    """Clients are told of it, with a number that rises; it falls where that is asked for."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        client = stage.client()
        first, levels = finalized(client)
        assert levels == []
        assert set_level(client, 3) is ErrorCode.INVALID_UPDATE_VERSION
        assert set_level(client, 2) is NONE
        second, levels = finalized(client)
        assert levels == [("transaction.version", 2)]
        assert second > first
        assert set_level(client, 0) is ErrorCode.INVALID_UPDATE_VERSION
        stage.stop()
        stage.start()
        client = stage.client()
        assert finalized(client) == (second, levels)
        assert set_level(client, 0, kind=2) is NONE
        third, levels = finalized(client)
        assert levels == []
        assert third > second


def test_a_transaction_of_version_2() -> None:
    """Nothing is added by the producer; every transaction has an epoch; a late end is refused."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders", 2)
        t = Copier(stage.client())
        assert set_level(t.client, 2) is NONE
        t.begin()
        first = t.me
        assert t.produce(0, 0, 12) is NONE
        assert t.commit_offset(5, 5) is NONE
        ended = t.end(V2)
        t.me = Me(ended.producer_id, ended.producer_epoch)
        assert t.me == Me(first.producer_id, first.epoch + 1)
        again = t.end(V2, first)  # its answer was lost
        assert Me(again.producer_id, again.producer_epoch) == t.me
        assert t.committed() == 5
        assert t.produce(0, 0, 12) is NONE
        assert t.end(V2, first).error_code == ErrorCode.PRODUCER_FENCED
        assert t.produce(0, 1, 12, first) is ErrorCode.INVALID_PRODUCER_EPOCH
        stable_at(t.client, 2)
        assert t.end(V2, committed=False).error_code == NONE
        stable_at(t.client, 4)


def test_an_abort_of_version_2_without_a_partition() -> None:
    """The producer cannot know whether its first record has arrived."""
    with Stage(transaction_state_log_num_partitions=SMALL) as stage:
        stage.make("orders")
        t = Copier(stage.client())
        set_level(t.client, 2)
        t.begin()
        ended = t.end(V2, committed=False)
        assert (ended.error_code, ended.producer_epoch) == (NONE, t.me.epoch + 1)
        t.me = Me(ended.producer_id, ended.producer_epoch)
        assert t.end(V2).error_code == ErrorCode.INVALID_TXN_STATE
        assert t.produce(0, 0, 12) is NONE
        assert t.end(V2).error_code == NONE
