"""Changes of the ISR, from the leaders of this broker to the controller (KIP-497).

One request is in flight at a time. What leaders propose meanwhile goes into the next one, and what
is more than a thousand partitions into those behind it. The answer is taken over in slices; a
leader may propose something else between them, or be replaced, as it may before the answer comes.

A request that fails as a whole is built anew and sent again, with the broker epoch of that moment,
until the controller answers for each partition. A leader that was replaced meanwhile ignores its
answer. What the controller does not know is asked again after a second, and holds up nothing else.
"""

import asyncio
from itertools import islice
from typing import Final

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.repeated_failures import RepeatedFailures
from odradek.broker.slices import ROWS_IN_A_SLICE
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, PartitionEpoch
from odradek.model.units import Millis
from odradek.ports import Clock
from odradek.replication.isr import NOT_KNOWN, IsrAccepted, IsrProposal
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)

RETRY_PAUSE: Final = Millis(50)
NOT_KNOWN_PAUSE: Final = Millis(1_000)
PARTITIONS_MAX: Final = 1_000
"""Of one request: ten milliseconds of the controller to judge, and of a leader to take over."""

ALL: Final = ""
"""A request as a whole; no partition is called so."""

log = structlog.get_logger()


class AlterPartitionManager:
    """What waits to be asked of the controller: at most one proposal for each partition."""

    def __init__(self, cluster: MetadataCache, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._proposals: dict[TopicPartition, tuple[LeadingReplica, IsrProposal]] = {}
        self._has_some = asyncio.Event()
        self._not_known: list[tuple[LeadingReplica, IsrProposal]] = []
        self._has_not_known = asyncio.Event()
        self._repeated = RepeatedFailures()
        self.shrinks = 0
        """Replicas that left an ISR, of all partitions led here so far."""
        self.expands = 0

    def propose(self, replica: LeadingReplica, proposal: IsrProposal) -> None:
        """Asks for this ISR; `replica.leader.on_isr_answer` brings the answer."""
        self._proposals[replica.partition] = (replica, proposal)
        self._has_some.set()

    async def run(self, to_controller: ControllerRequests) -> None:
        """Asks the controller, until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask(to_controller))
            tasks.create_task(self._ask_again())

    async def _ask_again(self) -> None:
        while True:
            await self._has_not_known.wait()
            await self._pause(NOT_KNOWN_PAUSE)
            self._has_not_known.clear()
            postponed, self._not_known = self._not_known, []
            for replica, proposal in postponed:  # if nothing was proposed since
                self._proposals.setdefault(replica.partition, (replica, proposal))
            self._has_some.set()

    async def _ask(self, to_controller: ControllerRequests) -> None:
        while True:
            await self._has_some.wait()
            self._has_some.clear()
            while self._drop_ended():
                try:
                    answered = await self._ask_once(to_controller)
                except BrokerError as error:
                    self._tell(ALL, str(error), "isr.change_not_answered")
                    answered = False
                if not answered:
                    await self._pause(RETRY_PAUSE)

    async def _pause(self, length: Millis) -> None:
        await self._clock.sleep_until(Millis(self._clock.monotonic() + length))

    def _drop_ended(self) -> bool:
        """Whether any proposal is left, once those of ended leaderships are dropped."""
        for partition in [it for it, (replica, _) in self._proposals.items() if replica.is_over]:
            del self._proposals[partition]
            self._repeated.forget(str(partition))
        return bool(self._proposals)

    async def _ask_once(self, to_controller: ControllerRequests) -> bool:
        """Whether every partition was answered, so that the next request need not wait."""
        asked = dict(islice(self._proposals.items(), PARTITIONS_MAX))
        response = await to_controller.ask(self._request(asked))
        assert isinstance(response, AlterPartitionResponse), response
        if response.error_code:
            self._tell(ALL, ErrorCode(response.error_code).name, "isr.change_refused")
            return False
        self._repeated.forget(ALL)
        topics = {replica.topic_id: replica.partition.topic for replica, _ in asked.values()}
        all_settled, count = True, 0
        for topic in response.topics:
            name = topics.get(TopicId(bytes(topic.topic_id)))
            for row in topic.partitions:
                partition = TopicPartition(name or "", row.partition_index)
                entry = asked.pop(partition, None)
                if entry is not None:
                    all_settled &= self._on_answer(partition, entry, row)
                count += 1
                if not count % ROWS_IN_A_SLICE:
                    await asyncio.sleep(0)
        for partition, entry in asked.items():
            if self._proposals.get(partition) is entry:  # behind those that were not asked yet
                self._proposals[partition] = self._proposals.pop(partition)
        return all_settled and not asked

    def _on_answer(
        self,
        partition: TopicPartition,
        entry: tuple[LeadingReplica, IsrProposal],
        row: ResponsePartitionData,
    ) -> bool:
        """Whether the leader is content; otherwise it proposes the same again."""
        replica, proposal = entry
        if self._proposals.get(partition) is entry:
            del self._proposals[partition]
        if replica.is_over:
            self._repeated.forget(str(partition))
            return True
        error = ErrorCode(row.error_code)
        if error is ErrorCode.NONE:
            self._repeated.forget(str(partition))
            log.info("isr.changed", partition=str(partition), isr=list(row.isr))
        else:
            self._tell(str(partition), error.name, "isr.change_refused")
        answer = error or IsrAccepted(
            LeaderEpoch(row.leader_epoch),
            PartitionEpoch(row.partition_epoch),
            tuple(map(BrokerId, row.isr)),
            row.eligible_min_isr,
            tuple(map(BrokerId, row.eligible)),
        )
        before = len(replica.leader.isr.committed)
        effects = replica.leader.on_isr_answer(proposal, answer, self._clock.monotonic())
        change = len(replica.leader.isr.committed) - before
        self.expands += max(0, change)
        self.shrinks += max(0, -change)
        if effects.propose is not None and error in NOT_KNOWN:
            self._not_known.append((replica, effects.propose))
            self._has_not_known.set()
            return True
        replica.carry_out(effects)
        return effects.propose is None

    def _tell(self, subject: str, error: str, event: str) -> None:
        """It is tried again twenty times a second, and may be refused for hours."""
        left_out = self._repeated.due(subject, error, self._clock.monotonic())
        if left_out is not None:
            about = {"partition": subject} if subject != ALL else {}
            log.info(event, **about, error=error, **left_out)

    def _request(
        self, asked: dict[TopicPartition, tuple[LeadingReplica, IsrProposal]]
    ) -> AlterPartitionRequest:
        topics: dict[bytes, list[RequestPartitionData]] = {}
        for replica, proposal in asked.values():
            row = RequestPartitionData(
                partition_index=replica.partition.partition,
                leader_epoch=proposal.leader_epoch,
                new_isr_with_epochs=[
                    BrokerState(it.broker, it.broker_epoch, it.incarnation) for it in proposal.isr
                ],
                partition_epoch=proposal.partition_epoch,
            )
            topics.setdefault(replica.topic_id, []).append(row)
        return AlterPartitionRequest(
            broker_id=self._cluster.me,
            broker_epoch=self._cluster.broker_epoch,
            topics=[
                RequestTopicData(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )
