"""One partition on several brokers: the cores of leader and follower, a controller, a bad network.

Logs are lists; processes die and come back with their logs, but with an old high watermark; a
connection breaks at any moment, before or after a request was served; what the controller says
arrives late. Everything that happens is chosen by one seed.
"""

from collections import deque
from random import Random

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset, PartitionEpoch
from odradek.model.units import Millis
from odradek.replication.fetcher import Pause, ReplicaFetcher, Request, Response
from odradek.replication.fetcher_requests import EARLIEST, FetcherSettings
from odradek.replication.following import (
    Follower,
    FollowerEffects,
    FollowerSettings,
    FollowerState,
)
from odradek.replication.isr import IsrAccepted, IsrProposal
from odradek.replication.leader import Leader
from odradek.replication.leadership import LeaderEffects, LeaderSettings, Leadership, LogEnds
from odradek.replication.progress import FollowerFetch
from odradek.replication.throttle import ReplicationThrottle
from odradek.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset as EpochEndTold,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.replication.model_log import Entry, ModelLog, encoded

ORDERS = TopicPartition("orders", 0)
ORDERS_ID = TopicId(b"orders-----------"[:16])
FETCHED_MAX = 3
LAG_MAX = Millis(40)


class Connection:
    """From a fetcher to the broker that it fetches from; what is sent arrives in order."""

    def __init__(self, follower: "ModelBroker", leader: "ModelBroker") -> None:
        self.follower, self.leader = follower, leader
        self.requests: deque[Request] = deque()
        self.responses: deque[Response] = deque()
        self.is_open = True


class ModelBroker:
    """One broker: its log, and its role in the partition."""

    def __init__(self, number: int, cluster: "Cluster") -> None:
        self.id = BrokerId(number)
        self.cluster = cluster
        self.log = ModelLog()
        self.life = BrokerEpoch(1)
        self.is_alive = True
        self.words: deque[Leadership | FollowerState] = deque()
        self.leader: Leader | None = None
        self.fetcher: ReplicaFetcher | None = None
        self.connection: Connection | None = None
        self.applying: list[tuple[Follower, FollowerEffects]] = []
        self.sessions: dict[int, tuple[int, FetchPartition]] = {}

    # A process

    def kill(self) -> None:
        """What is in the page cache survives; the high watermark is that of the checkpoint."""
        self.is_alive = False
        self.words.clear()
        self.applying.clear()
        self.leader = self.fetcher = None
        self.sessions.clear()
        self._disconnect()
        self.log.high_watermark = min(self.log.checkpoint, self.log.log_end_offset)

    def start(self) -> None:
        """In another life."""
        self.is_alive = True
        self.life = BrokerEpoch(self.life + 1)

    def _disconnect(self) -> None:
        if self.connection is not None:
            self.connection.is_open = False  # what was sent may still be served
            self.connection = None

    # The controller's word

    def on_word(self, word: Leadership | FollowerState) -> None:
        """LeaderAndIsr."""
        known = self.leader.leader_epoch if self.leader else self._followed_epoch()
        if isinstance(word, Leadership):
            self._lead(word, known)
        elif known is None or word.leader_epoch > known:
            self._follow(word)

    def _followed_epoch(self) -> LeaderEpoch | None:
        if self.fetcher is None:
            return None
        return next((it.leader_epoch for it in self.fetcher.followers()), None)

    def _lead(self, word: Leadership, known: LeaderEpoch | None) -> None:
        now = self.cluster.now
        if self.leader is not None:
            self._carry_out(self.leader.on_leadership(word, now))
        elif known is None or word.leader_epoch > known:
            self.fetcher = None
            self.applying.clear()
            self._disconnect()
            settings = LeaderSettings(LAG_MAX, self.cluster.min_isr)
            ends = LogEnds(self.log.log_end_offset, self.log.high_watermark)
            self.leader, effects = Leader.elected(self.id, word, ends, settings=settings, now=now)
            self._carry_out(effects)

    def _follow(self, word: FollowerState) -> None:
        if self.leader is not None:
            self.leader.resign()
            self.leader = None
            self.cluster.resigned(self)
        self.applying.clear()
        if (
            self.fetcher is None
            or self.connection is None
            or (self.connection.leader.id != word.leader)
        ):
            self._disconnect()
            self.fetcher = ReplicaFetcher(
                self.id,
                self.life,
                FetcherSettings(self.cluster.fetch_version, patience=Millis(0)),
                ReplicationThrottle(lambda _partition: False),
            )
        follower = self.cluster.follower_type(
            (ORDERS, ORDERS_ID),
            self.log,
            word,
            settings=FollowerSettings(truncates_on_fetch=self.cluster.fetch_version >= 12),
        )
        self._begin(follower, self.fetcher.add(follower, self.cluster.now))
        if self.connection is None:
            self.connection = self.cluster.connect(self, word.leader)

    # As a leader

    def produce(self, record: str) -> None:
        """With acks=all."""
        assert self.leader is not None
        try:
            self.leader.check_enough_replicas()
        except BrokerError:
            return
        self.log.append((self.leader.leader_epoch, record))
        effects = self.leader.on_append(self.log.log_end_offset, self.cluster.now)
        self.leader.await_commit(self.log.log_end_offset, (self.log.log_end_offset - 1, record))
        self._carry_out(effects)

    def on_time(self) -> None:
        """Time has passed."""
        if self.leader is not None:
            self._carry_out(self.leader.on_time(self.cluster.now))

    def on_isr_answer(self, proposal: IsrProposal, answer: IsrAccepted | ErrorCode) -> None:
        """From the controller."""
        if self.leader is not None:
            self._carry_out(self.leader.on_isr_answer(proposal, answer, self.cluster.now))

    def _carry_out(self, effects: LeaderEffects) -> None:
        if effects.begin_epoch is not None:
            self.log.epochs.assign(effects.begin_epoch.leader_epoch, effects.begin_epoch.offset)
        if effects.high_watermark is not None:
            self.log.high_watermark = effects.high_watermark
        if effects.propose is not None:
            self.cluster.proposals.append((self, self.life, effects.propose))
        for verdict in effects.verdicts:
            if verdict.error is None:
                self.cluster.acknowledged.append(verdict.ticket)  # type: ignore[arg-type]

    def serve(self, request: Request) -> Response:
        """What it answers a follower."""
        match request:
            case FetchRequest():
                return self._serve_fetch(request)
            case OffsetForLeaderEpochRequest():
                asked = request.topics[0].partitions[0]
                told = EpochEndTold(self._check(asked.current_leader_epoch), 0)
                if not told.error_code:
                    told.leader_epoch, told.end_offset = self.log.epochs.end_offset_for(
                        LeaderEpoch(asked.leader_epoch), self.log.log_end_offset
                    )
                topic = OffsetForLeaderTopicResult(ORDERS.topic, [told])
                return OffsetForLeaderEpochResponse(0, [topic])
            case ListOffsetsRequest():
                wanted = request.topics[0].partitions[0]
                code = self._check(wanted.current_leader_epoch)
                end = 0 if wanted.timestamp == EARLIEST else self.log.log_end_offset
                row = ListOffsetsPartitionResponse(0, code, offset=end)
                return ListOffsetsResponse(0, [ListOffsetsTopicResponse(ORDERS.topic, [row])])

    def _check(self, leader_epoch: int) -> int:
        if self.leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        try:
            self.leader.check_leader_epoch(LeaderEpoch(leader_epoch))
        except BrokerError as error:
            return error.code
        return 0

    def _serve_fetch(self, request: FetchRequest) -> FetchResponse:
        if request.session_epoch == 0:
            self.sessions.pop(request.session_id, None)
            self.cluster.sessions += 1
            session, epoch = self.cluster.sessions, 0
        else:
            session = request.session_id
            if session not in self.sessions:
                return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            epoch = self.sessions[session][0]
            if epoch != request.session_epoch:
                return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if request.topics:
            part = request.topics[0].partitions[0]
        else:
            part = self.sessions[session][1]
            if request.forgotten_topics_data:
                return FetchResponse(session_id=session)
        self.sessions[session] = (epoch + 1, part)
        sender = request.replica_state.replica_id if request.replica_state else -1
        broker = BrokerId(request.replica_id if request.replica_id >= 0 else sender)
        data = self._fetched(broker, part)
        topic = FetchableTopicResponse(ORDERS.topic, ORDERS_ID, [data])
        return FetchResponse(session_id=session, responses=[topic])

    def _fetched(self, broker: BrokerId, part: FetchPartition) -> PartitionData:
        code = self._check(part.current_leader_epoch)
        if code:
            return PartitionData(0, code)
        assert self.leader is not None
        end, offset = self.log.log_end_offset, Offset(part.fetch_offset)
        if part.last_fetched_epoch >= 0:
            known, epoch_end = self.log.epochs.end_offset_for(
                LeaderEpoch(part.last_fetched_epoch), end
            )
            if epoch_end < 0:
                return PartitionData(0, ErrorCode.OFFSET_OUT_OF_RANGE)
            if known < part.last_fetched_epoch or epoch_end < offset:
                return PartitionData(0, diverging_epoch=EpochEndOffset(known, epoch_end))
        if offset > end:
            return PartitionData(0, ErrorCode.OFFSET_OUT_OF_RANGE)
        life = self.cluster.brokers[broker].life
        fetch = FollowerFetch(
            broker, offset, LeaderEpoch(part.current_leader_epoch), broker_epoch=life
        )
        try:
            self._carry_out(self.leader.on_follower_fetch(fetch, self.cluster.now))
        except BrokerError as error:
            return PartitionData(0, error.code)
        entries = self.log.entries[offset : offset + FETCHED_MAX]
        records = encoded(offset, entries) if entries else None
        return PartitionData(0, 0, self.leader.high_watermark, records=records, log_start_offset=0)

    # As a follower

    def fetch(self) -> bool:
        """Sends what the fetcher wants to send."""
        if self.fetcher is None or self.connection is None:
            return False
        request = self.fetcher.next_request(self.cluster.now)
        if isinstance(request, Pause):
            return False
        self.connection.requests.append(request)
        return True

    def on_response(self, response: Response) -> None:
        """From the leader."""
        assert self.fetcher is not None
        for step in self.fetcher.on_response(response, self.cluster.now):
            self._begin(*step)

    def on_broken(self) -> None:
        """The connection broke; another one is made at once."""
        assert self.fetcher is not None
        assert self.connection is not None
        leader = self.connection.leader.id
        self._disconnect()
        self.fetcher.on_no_response(self.cluster.now)
        self.connection = self.cluster.connect(self, leader)

    def _begin(self, follower: Follower, effects: FollowerEffects) -> None:
        if effects.changes_log:
            self.applying.append((follower, effects))
        else:
            self.log.apply(effects)

    def apply(self) -> None:
        """What the disk was asked to do is done."""
        assert self.fetcher is not None
        for _, effects in self.applying:
            self.log.apply(effects)
            more = self.fetcher.on_applied(ORDERS, self.cluster.now)
            assert not more.changes_log, more
            self.log.apply(more)
        self.applying.clear()


class Cluster:
    """All of them, their controller, and what was committed."""

    def __init__(
        self,
        seed: int,
        *,
        brokers: int = 3,
        min_isr: int = 1,
        fetch_version: int = 17,
        follower_type: type[Follower] = Follower,
    ) -> None:
        self.random = Random(seed)
        self.now = Millis(1_000)
        self.min_isr = min_isr
        self.fetch_version = fetch_version
        self.follower_type = follower_type
        self.brokers = [ModelBroker(number, self) for number in range(brokers)]
        self.connections: list[Connection] = []
        self.proposals: deque[tuple[ModelBroker, BrokerEpoch, IsrProposal]] = deque()
        self.acknowledged: list[tuple[int, str]] = []
        self.committed: list[Entry] = []
        self.records = self.sessions = 0
        self.noticed = [broker.life for broker in self.brokers]  # 0: it is known to be dead
        self.leader: BrokerId | None = BrokerId(0)
        self.leader_epoch = LeaderEpoch(0)
        self.partition_epoch = PartitionEpoch(0)
        self.isr = tuple(broker.id for broker in self.brokers)
        self._tell()

    # The controller

    def _tell(self) -> None:
        self.partition_epoch = PartitionEpoch(self.partition_epoch + 1)
        for broker in self.brokers:
            self._tell_one(broker)

    def _tell_one(self, broker: ModelBroker) -> None:
        if not broker.is_alive or not self.noticed[broker.id] or self.leader is None:
            return
        word = (
            Leadership(
                self.leader_epoch,
                self.partition_epoch,
                tuple(it.id for it in self.brokers),
                self.isr,
            )
            if broker.id == self.leader
            else FollowerState(self.leader, self.leader_epoch)
        )
        broker.words.append(word)

    def _elect(self, leader: BrokerId | None) -> None:
        self.leader = leader
        self.leader_epoch = LeaderEpoch(self.leader_epoch + 1)
        self._tell()

    def _live_members(self) -> list[BrokerId]:
        return [it for it in self.isr if self.noticed[it]]

    def notice(self, broker: ModelBroker) -> None:
        """The controller learns that a broker has died, or has come back."""
        was = self.noticed[broker.id]
        if was and (not broker.is_alive or broker.life != was):
            self.noticed[broker.id] = BrokerEpoch(0)
            if broker.id in self.isr or broker.id == self.leader:
                self.isr = tuple(self._live_members()) or self.isr
                alive = self._live_members()
                leader = self.leader if self.leader in alive else (alive[0] if alive else None)
                self._elect(leader)
        if broker.is_alive and not self.noticed[broker.id]:
            self.noticed[broker.id] = broker.life
            if self.leader is None and broker.id in self.isr:
                self._elect(broker.id)
            else:
                self._tell_one(broker)

    def alter(self, broker: ModelBroker, proposal: IsrProposal) -> IsrAccepted | ErrorCode:
        """AlterPartition."""
        if broker.id != self.leader or proposal.leader_epoch != self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        wanted = tuple(member.broker for member in proposal.isr)
        if proposal.partition_epoch < self.partition_epoch and wanted == self.isr:
            return IsrAccepted(self.leader_epoch, self.partition_epoch, self.isr)  # done before
        if proposal.partition_epoch != self.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for member in proposal.isr:
            if member.broker_epoch >= 0 and self.noticed[member.broker] != member.broker_epoch:
                return ErrorCode.INELIGIBLE_REPLICA
            if not self.noticed[member.broker]:
                return ErrorCode.INELIGIBLE_REPLICA
        self.isr = wanted
        self.partition_epoch = PartitionEpoch(self.partition_epoch + 1)
        return IsrAccepted(self.leader_epoch, self.partition_epoch, self.isr)

    def resigned(self, broker: ModelBroker) -> None:
        """What it proposed, and was not heard of, is dropped with its leadership."""
        self.proposals = deque(it for it in self.proposals if it[0] is not broker)

    def connect(self, follower: ModelBroker, leader: BrokerId) -> Connection:
        """A new connection."""
        connection = Connection(follower, self.brokers[leader])
        self.connections.append(connection)
        return connection

    # What happens

    def step(self) -> None:
        """Something, by chance."""
        broker = self.random.choice(self.brokers)
        chance = self.random.random()
        if chance < 0.02:
            self.kill_or_start(broker)
        elif chance < 0.06:
            self.notice(broker)
        elif chance < 0.07 and self.leader is not None:
            self._elect(self.random.choice(self._live_members() or [self.leader]))
        elif chance < 0.17:
            self.produce()
        elif chance < 0.2:
            broker.log.checkpoint = max(broker.log.checkpoint, broker.log.high_watermark)
        elif chance < 0.23:
            self.pass_time(self.random.choice((5, 30, 60)))
        elif chance < 0.25 and broker.is_alive and broker.connection is not None:
            broker.on_broken()
        else:
            self.progress(broker)
        self.check()

    def kill_or_start(self, broker: ModelBroker) -> None:
        """One way or the other."""
        if not broker.is_alive:
            broker.start()
        elif sum(it.is_alive for it in self.brokers) > 1 or self.random.random() < 0.3:
            broker.kill()
            self.resigned(broker)

    def produce(self) -> None:
        """To whichever broker believes that it leads: some producers do not know better yet."""
        for broker in self.brokers:
            if broker.leader is not None:
                self.records += 1
                broker.produce(f"r{self.records}")

    def pass_time(self, millis: int) -> None:
        """For everybody."""
        self.now = Millis(self.now + millis)
        for broker in self.brokers:
            if broker.is_alive:
                broker.on_time()

    def progress(self, broker: ModelBroker) -> bool:
        """The next thing that has to happen at this broker, or on a connection of its."""
        if not broker.is_alive:
            return False
        if broker.applying:
            broker.apply()
        elif broker.words and self.random.random() < 0.5:
            broker.on_word(broker.words.popleft())
        elif self.random.random() < 0.3 and self.proposals:
            self._carry_proposal()
        elif not self._carry(broker):
            return broker.fetch()
        return True

    def _carry_proposal(self) -> None:
        broker, life, proposal = self.proposals.popleft()
        if self.random.random() < 0.15:
            answer: IsrAccepted | ErrorCode = ErrorCode.NETWORK_EXCEPTION
        else:
            answer = self.alter(broker, proposal)
            if self.random.random() < 0.15:
                answer = ErrorCode.NETWORK_EXCEPTION
        if broker.is_alive and broker.life == life:
            broker.on_isr_answer(proposal, answer)

    def _carry(self, broker: ModelBroker) -> bool:
        """A request or a response of a connection that this broker began."""
        for connection in self.connections:
            if connection.follower is not broker:
                continue
            if connection.requests and connection.leader.is_alive:
                response = connection.leader.serve(connection.requests.popleft())
                if connection.is_open:
                    connection.responses.append(response)
                return True
            if connection.is_open and connection.responses:
                broker.on_response(connection.responses.popleft())
                return True
            if not connection.leader.is_alive and (connection.requests or connection.is_open):
                connection.requests.clear()
                if connection.is_open and connection is broker.connection:
                    broker.on_broken()
                return True
        self.connections = [it for it in self.connections if it.is_open or it.requests]
        return False

    # What must hold

    def check(self) -> None:
        """Below a high watermark there is one history, and it only grows."""
        for broker in self.brokers:
            log = broker.log
            known = log.entries[: log.high_watermark]
            shared = min(len(known), len(self.committed))
            assert known[:shared] == self.committed[:shared], (
                f"broker {broker.id} has another history below {shared}"
            )
            if len(known) > len(self.committed):
                self.committed = list(known)
        for broker in self.brokers:
            leader = broker.leader
            if leader is not None and leader.leader_epoch == self.leader_epoch:
                assert broker.log.entries[: len(self.committed)] == self.committed, (
                    f"broker {broker.id} leads without what was committed"
                )

    def heal(self) -> None:
        """Everything lives and is told; then all logs must become equal, and all in sync."""
        for broker in self.brokers:
            if not broker.is_alive:
                broker.start()
        for _ in range(2):
            for broker in self.brokers:
                self.notice(broker)
        for _ in range(4_000):
            for broker in self.brokers:
                self.progress(broker)
            self.pass_time(1)
            self.check()
            if self.is_quiet():
                break
        assert self.is_quiet(), [it.log.entries for it in self.brokers]
        entries = self.brokers[0].log.entries
        for offset, record in self.acknowledged:
            assert entries[offset][1] == record, (offset, record)

    def is_quiet(self) -> bool:
        """All logs are the same, all of it is committed, and all replicas are in sync."""
        first = self.brokers[0].log.entries
        return (
            len(self.isr) == len(self.brokers)
            and not any(it.words or it.applying for it in self.brokers)
            and all(it.log.entries == first for it in self.brokers)
            and all(it.log.high_watermark == len(first) for it in self.brokers)
        )


def run(seed: int, steps: int = 400, **kinds: object) -> Cluster:
    """A history of that many steps, and what comes after the faults."""
    cluster = Cluster(seed, **kinds)  # type: ignore[arg-type]
    for _ in range(steps):
        cluster.step()
    cluster.heal()
    return cluster
