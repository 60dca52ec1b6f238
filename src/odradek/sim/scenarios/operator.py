"""Who runs the cluster, in a conversation: places replicas, elects leaders, asks what is wrong."""

from collections.abc import Mapping, Sequence

from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate
from odradek.client.admin.placement import (
    Election,
    Ongoing,
    Outcomes,
    elect,
    reassign,
    reassignments,
)
from odradek.client.errors import check
from odradek.model.admin_operations import CLUSTER_HEALTH
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.stage.clients import Client


class Operator(Client):
    """A client with more to say; it talks to whichever broker decides."""

    def places(self, topic: str, *assigned: Sequence[int], **settings: str) -> None:
        """A topic, each partition on these brokers."""
        self.does(self.placing(topic, *assigned, **settings))

    async def placing(self, topic: str, *assigned: Sequence[int], **settings: str) -> None:
        """Likewise, for who goes on meanwhile."""
        said = {name.replace("_", "."): value for name, value in settings.items()}
        new = admin.NewTopic(topic, settings=said, assigned=assigned)
        await admin.create_topic(self.cluster, new)

    def grows(self, topic: str, count: int) -> ErrorCode:
        """So many partitions; what speaks against it."""
        return self.refusal_of(admin.grow_topic(self.cluster, topic, count))

    def deletion_of(self, topic: str) -> ErrorCode:
        """It is to be deleted; what speaks against it."""
        return self.refusal_of(self.deleting(topic))

    def sets(self, topic: str, **settings: str) -> None:
        """Settings of a topic."""
        said = {name.replace("_", "."): value for name, value in settings.items()}
        self.does(admin.alter_settings(self.cluster, admin.TOPIC, topic, to=said))

    def sets_brokers(self, to: Mapping[str, str], delete: Sequence[str] = ()) -> None:
        """Settings of all brokers."""
        change = admin.alter_settings(self.cluster, admin.BROKER, "", to=to, delete=delete)
        self.does(change)

    def moves(self, topic: str, *to: int, partition: int = 0) -> ErrorCode:
        """A partition is to be on these brokers; what speaks against it."""
        where = TopicPartition(topic, partition)
        return _code(self.does(reassign(self.cluster, {where: to})), where)

    def trims(self, topic: str, before: int, partition: int = 0) -> int:
        """Deletes what lies before an offset; where the log begins then."""
        return int(self.does(self.trimming(topic, before, partition)))

    async def trimming(self, topic: str, before: int, partition: int = 0) -> int:
        """The same, to be begun."""
        where = TopicPartition(topic, partition)
        starts = await admin.delete_records(self.cluster, {where: before})
        return int(starts[str(where)])

    def cancels(self, topic: str, partition: int = 0) -> ErrorCode:
        """It is to stay where it was."""
        where = TopicPartition(topic, partition)
        return _code(self.does(reassign(self.cluster, {where: None})), where)

    def ongoing(self) -> dict[TopicPartition, Ongoing]:
        """What is being moved."""
        return dict(self.does(reassignments(self.cluster)))

    def elects(self, topic: str, partition: int = 0, *, uncleanly: bool = False) -> ErrorCode:
        """The preferred leader, or any; what speaks against it."""
        kind = Election.UNCLEAN if uncleanly else Election.PREFERRED
        where = TopicPartition(topic, partition)
        return _code(self.does(elect(self.cluster, kind, [where])), where)

    def replicas(self, topic: str, partition: int = 0) -> list[int]:
        """As clients are told."""
        (row,) = self.does(self.cluster.refresh([topic])).topics
        check(row.error_code, topic)
        (found,) = (it for it in row.partitions if it.partition_index == partition)
        return list(found.replica_nodes)

    def problems(self) -> dict[str, dict[str, dict[str, list[int]]]]:
        """What is wrong: effects by cause."""
        answer = self.does(operate(self.cluster, Wanted(CLUSTER_HEALTH)))
        return {problem["cause"]: problem["effects"] for problem in answer["problems"]}


def _code(outcomes: Outcomes, partition: TopicPartition) -> ErrorCode:
    refused = outcomes[partition]
    return ErrorCode.NONE if refused is None else refused.code
