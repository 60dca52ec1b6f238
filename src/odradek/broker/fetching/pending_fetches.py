"""Fetches under way, and what happens that concerns some of them: roles, metadata, access rules.

How one of them looks for records, waits and is answered stands in `pending_fetch`.
"""

import asyncio
from functools import partial
from typing import Final

from odradek.broker.fetching.fetch_sessions import (
    FetchSessions,
    Session,
    Slot,
)
from odradek.broker.fetching.partition_reading import (
    PartitionReading,
)
from odradek.broker.fetching.pending_fetch import Fetch, FetchDeps
from odradek.broker.fetching.reader import Consumer, Follower, Reader
from odradek.broker.fetching.replica_selector import ReplicaSelector
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.replica import Replica
from odradek.metadata.image import ClusterImage
from odradek.model.access import Operation
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.model.units import SECOND, Millis
from odradek.wire.messages.fetch import (
    FetchRequest,
)

READ_COMMITTED: Final = 1
RACKS_SINCE: Final = 11
TOPIC_IDS_SINCE: Final = 13
REPLICA_STATE_SINCE: Final = 15
EARLY_PATIENCE: Final = Millis(5 * SECOND)
"""So long a follower that comes before its leader has begun is not refused."""
EARLY_PAUSE: Final = Millis(500)
"""Between two looks at who has waited so long."""


class Fetches:
    """All that are under way, and the sessions that they belong to."""

    def __init__(self, deps: FetchDeps, sessions: FetchSessions) -> None:
        self.deps = deps
        self.sessions = sessions
        self.waiting = 0
        self.loop = asyncio.get_running_loop()
        self._early: dict[Session, None] = {}  # followers that came before their leader began
        selector = ReplicaSelector(deps.cluster, deps.selector_class)
        self.reading = PartitionReading(
            deps.replicas, deps.cluster, deps.clock, selector=selector, throttle=deps.throttle
        )

    def begin(self, pending: PendingRequest, request: FetchRequest) -> None:
        """Answers now, or when there is enough, or when the client's patience ends."""
        version = pending.version
        by_id = version >= TOPIC_IDS_SINCE
        now = self.deps.clock.monotonic()
        reader, connection = reader_of(request, version), pending.connection
        if isinstance(reader, Follower) and connection.at_end is None:
            access = self.deps.access
            if access is None or access.may_on_cluster(connection, Operation.CLUSTER_ACTION):
                connection.at_end = partial(self.deps.on_follower_gone, reader.broker)
        session = self.sessions.find(request, connection.principal, reader, now, by_id=by_id)
        if session.waiting is not None:
            session.waiting.end()  # a follower has new partitions, and does not wait with them
        Fetch(self, pending, request, session).begin()

    def waits_for_leader(self, slot: Slot) -> bool:
        """Whether a partition that is not led here yet is looked at again, instead of refused.

        The controller tells brokers of an election in no order. A refusal costs a question and an
        answer for each partition, and a pause; with ten thousand of them again and again.
        """
        now, early = self.deps.clock.monotonic(), slot.session.early
        until = early.setdefault(slot, Millis(now + EARLY_PATIENCE))
        if until <= now:
            del early[slot]
            return False
        if not self._early:
            self.deps.timers.at(Millis(now + EARLY_PAUSE), self._look_at_early)
        self._early[slot.session] = None
        return True

    def _look_at_early(self) -> None:
        """Those who have waited for long enough are refused, if they still ask."""
        now = self.deps.clock.monotonic()
        for session in tuple(self._early):
            for slot in [slot for slot, until in session.early.items() if until <= now]:
                slot.wake()
            if all(until <= now for until in session.early.values()):
                del self._early[session]
        if self._early:
            self.deps.timers.at(Millis(now + EARLY_PAUSE), self._look_at_early)

    def on_rules(self) -> None:
        """Access rules have changed: consumers are told at their next fetch what they may not."""
        for session in self.sessions:
            if isinstance(session.reader, Consumer):
                session.look_at_all()

    def on_role(self, replica: Replica) -> None:
        """Who came too early is served, or refused: another broker may lead it after all."""
        for session in self._early:
            slot = session.find(replica.partition, replica.topic_id)
            if slot is not None and slot in session.early:
                slot.rename(replica.partition.topic)
                slot.wake()

    def on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        """A broker that was not known when its follower fetched may join an ISR from now on.

        And a follower may have asked for a topic before its name was known.
        """
        if self._early and old.names is not new.names:
            for session in tuple(self._early):
                for slot in [slot for slot in session.early if not slot.name]:
                    slot.wake()
        if old.brokers is new.brokers:
            return
        changed = {it for it, broker in new.brokers.items() if old.brokers.get(it) != broker}
        for session in self.sessions:
            if isinstance(session.reader, Follower) and session.reader.broker in changed:
                session.look_at_all()


def reader_of(request: FetchRequest, version: int) -> Reader:
    """A follower names its broker; everything else is a consumer."""
    if version >= REPLICA_STATE_SINCE and request.replica_state is not None:
        replica, broker_epoch = (
            request.replica_state.replica_id,
            request.replica_state.replica_epoch,
        )
    else:
        replica, broker_epoch = request.replica_id, -1
    if replica >= 0:
        return Follower(BrokerId(replica), BrokerEpoch(broker_epoch))
    return Consumer(
        request.isolation_level == READ_COMMITTED, version >= RACKS_SINCE, request.rack_id
    )
