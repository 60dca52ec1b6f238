"""A controller on a tree of its own: brokers and topics come and go, and what it says to whom.

talk = Conversation(brokers=(1, 2, 3))
talk.make("orders", (1, 2, 3))
talk.brokers(2, 3)
assert talk.state("orders").leader == 2
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from odradek.config.listeners import SecurityProtocol
from odradek.controller.candidacy import ControllerLease
from odradek.controller.context import ControllerContext
from odradek.controller.controller import Controller
from odradek.controller.decisions.beginning import read_tree
from odradek.controller.events import BrokerAnswered, CreationAsked, Event, TreeChanged
from odradek.controller.guarded_writes import GuardedWrites
from odradek.controller.steps import (
    Attempt,
    Commit,
    Connect,
    Note,
    Read,
    Remind,
    Send,
    StatesWritten,
    Steps,
    TopicIsGone,
    TopicIsMade,
    WriteStates,
)
from odradek.controller.topics import NewTopic
from odradek.metadata.nouns import (
    Assignment,
    Broker,
    BrokerMark,
    Endpoint,
    PartitionState,
    TopicAssignment,
)
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.cluster import PERSISTENT_PATHS, ControllerZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicsZnode, TopicZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_BROKER, BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.model.units import Millis, Timestamp
from odradek.sim.doors.chance import SeededRandom
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.wire.schema import Request, Response
from odradek.zookeeper.client.errors import MultiFailed
from odradek.zookeeper.protocol.jute_replies import Results
from odradek.zookeeper.protocol.jute_requests import Check, Multi
from tests.unit.controller.tree import Tree

ID = TopicId(bytes(range(16)))
R = TypeVar("R")


class Deposed(Exception):
    """The guard of a write has failed."""


class Settings:
    """A policy that a test can change."""

    def __init__(self) -> None:
        self.may_delete = True
        self.imbalance_percentage = 10
        self.topic_defaults = (1, 1)
        self.random = SeededRandom(7, "controller")
        self.unclean_topics: set[str] = set()
        self.min_isrs: dict[str, int] = {}
        self.has_fallback = True
        self.handover_lease = Millis(2_000)
        self.preferred_settle = Millis(30_000)
        self.preferred_min_count = 0
        self.is_dedicated = False
        self.cordoned: frozenset[BrokerId] = frozenset()
        self.unreadable_settings: tuple[str, ...] = ()

    def check_settings(self, settings: Mapping[str, str]) -> None:
        """All are good."""

    def unclean(self, topic: str) -> bool:
        """Where a test allows it."""
        return topic in self.unclean_topics

    def min_isr(self, topic: str) -> int:
        """One, if a test says nothing."""
        return self.min_isrs.get(topic, 1)

    def between_brokers(self, broker: Broker) -> Endpoint | None:
        """The listener of that name."""
        return broker.endpoint("INSIDE")


class Conversation:
    """A controller whose steps are carried out at once, and what it has said."""

    def __init__(
        self, brokers: Iterable[int] = (1, 2, 3), *, settings: Settings | None = None
    ) -> None:
        self.tree = Tree()
        self.settings = settings or Settings()
        self.sent: list[tuple[int, Request]] = []
        self.pauses = 0  # within decisions
        self.notes: list[str] = []
        self.forgotten: list[str] = []
        self.made: list[TopicIsMade] = []  # with the settings that they were made with
        self.reminders: list[Remind] = []
        for path in PERSISTENT_PATHS:
            self.tree.put(path)
        self.tree.put("/controller_epoch", b"5")
        for number in brokers:
            self.register(number)
        self.controller: Controller

    # The world

    def register(self, number: int, *, marked: bool = True, preferred: bool = False) -> None:
        """Another life of a broker, in the session of its number."""
        path = BrokerZnode.path(BrokerId(number))
        self.tree.nodes.pop(path, None)
        endpoints = tuple(
            Endpoint(name, f"host{number}", port, SecurityProtocol.PLAINTEXT)
            for name, port in (("CLIENTS", 9_092), ("INSIDE", 9_093))
        )
        mark = BrokerMark("here", (), preferred) if marked else None
        broker = Broker(BrokerId(number), endpoints, mark=mark)
        self.tree.put(path, BrokerZnode.encode(broker, Timestamp(0)), owner=number)

    def topic(self, name: str, *assignments: tuple[int, ...] | Assignment) -> None:
        """A topic's znode, as somebody else writes it."""
        partitions = {
            number: it if isinstance(it, Assignment) else Assignment(tuple(map(BrokerId, it)))
            for number, it in enumerate(assignments)
        }
        data = TopicZnode.encode(TopicAssignment(partitions, ID))
        self.tree.put(TopicZnode.path(name), data)

    def write_state(self, name: str, partition: int = 0, **said: Any) -> None:
        """A state, as somebody else has written it."""
        state = PartitionState(
            said.get("leader"),
            LeaderEpoch(said.get("leader_epoch", 0)),
            tuple(map(BrokerId, said["isr"])),
            PartitionEpoch(0),
            ControllerEpoch(1),
            recovering=said.get("recovering", False),
            eligible=tuple(map(BrokerId, said.get("eligible", ()))),
            eligible_min_isr=said.get("eligible_min_isr", 0),
        )
        path = PartitionStateZnode.path(TopicPartition(name, partition))
        self.tree.put(path, PartitionStateZnode.encode(state))

    # The controller

    def begin(self) -> "Conversation":
        """It is elected."""
        self.tree.put("/controller", ControllerZnode.encode(BrokerId(1), Timestamp(0)), owner=1)
        lease = ControllerLease(ControllerEpoch(5), self.tree.nodes["/controller_epoch"].version)
        reading = self.take(read_tree())
        context = ControllerContext(BrokerId(1), lease, reading.image(), self.settings)
        self.controller = Controller(context)
        self.take(self.controller.begin(reading))
        return self

    def on(self, event: Event) -> Any:
        """One event, with all that follows; its answer."""
        return self.take(self.controller.on(event))

    def take(self, steps: Steps[R]) -> R:
        """Carries the steps out."""
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                result: R = end.value
                return result
            outcome = self._carry_out(step)

    def _carry_out(self, step: Any) -> Any:
        match step:
            case Read(requests):
                return self.tree.answers(requests)
            case Attempt(multi):
                return self.tree.answer(multi)
            case WriteStates(writes):
                return self._write(GuardedWrites(self.context.lease, writes))
            case Commit(multis):
                return [self._commit(multi) for multi in multis]
            case Send(messages):
                self.sent += [(it, request) for them, request in messages for it in them]
                self.pauses += not messages
            case Note(event):
                self.notes.append(event)
            case Remind():
                self.reminders.append(step)
            case TopicIsGone(name):
                self.forgotten.append(name)
            case TopicIsMade():
                self.made.append(step)
            case Connect():
                pass
        return None

    def _write(self, rounds: GuardedWrites) -> StatesWritten:
        while requests := rounds.requests():
            rounds.on_answers(self.tree.answers(requests))
        if rounds.stopped is not None:
            raise Deposed(rounds.stopped)
        return StatesWritten(rounds.written, rounds.conflicts, rounds.failed)

    def _commit(self, multi: Multi) -> Any:
        guard = Check("/controller_epoch", self.context.lease.epoch_version)
        answer = self.tree.answer(Multi((guard, *multi.ops)))
        if isinstance(answer, MultiFailed):
            if answer.index == 0:
                raise Deposed(str(answer))
            return MultiFailed(answer.cause, (answer.index or 1) - 1)
        return Results(answer.results[1:]) if isinstance(answer, Results) else answer

    @property
    def context(self) -> ControllerContext:
        """What it knows."""
        return self.controller.context

    # What happens, in short

    def brokers(self, *alive: int) -> "Conversation":
        """From now on these, in the lives that they have."""
        self.sent.clear()
        for name in self.tree.children(BrokerIdsZnode.PATH):
            if int(name) not in alive:
                del self.tree.nodes[f"{BrokerIdsZnode.PATH}/{name}"]
        for number in alive:
            if BrokerZnode.path(BrokerId(number)) not in self.tree.nodes:
                self.register(number)
        self.on(TreeChanged(frozenset({BrokerIdsZnode.PATH})))
        return self

    def bounce(self, number: int) -> "Conversation":
        """A broker is back in another life before anybody saw it go."""
        self.sent.clear()
        self.register(number)
        self.on(TreeChanged(frozenset({BrokerIdsZnode.PATH})))
        return self

    def make(self, name: str, *assignments: tuple[int, ...]) -> "Conversation":
        """A topic, as a client asks for it."""
        wanted = {at: [BrokerId(it) for it in them] for at, them in enumerate(assignments)}
        outcomes = self.on(CreationAsked([NewTopic(name, assignment=wanted)]))
        assert not isinstance(outcomes[name], Exception), outcomes
        return self

    def topics_changed(self, *names: str) -> None:
        """The watches of topics ring."""
        paths = [TopicZnode.path(name) for name in names] or [TopicsZnode.PATH]
        self.on(TreeChanged(frozenset(paths)))

    def stopped(self, broker: int, code: ErrorCode = ErrorCode.NONE) -> None:
        """A broker answers every StopReplica that has no answer yet."""
        for message in [it for it in self.sent if it[0] == broker]:
            request = message[1]
            if not isinstance(request, StopReplicaRequest):
                continue
            self.sent.remove(message)
            rows = [
                StopReplicaPartitionError(topic.topic_name, row.partition_index, code)
                for topic in request.topic_states
                for row in topic.partition_states
            ]
            self.answer(broker, request, StopReplicaResponse(partition_errors=rows))

    def reports(
        self,
        broker: int,
        *partitions: tuple[str, int],
        leader: int | None = None,
        unclean: bool = False,
        code: int = 0,
        incarnation: int = 0,
        leading: bool = False,
    ) -> None:
        """A broker answers LeaderAndIsr about these, of which it is told who leads them."""
        topics = self.context.image.topics
        told = NO_BROKER if leader is None else leader
        request = LeaderAndIsrRequest(
            topic_states=[
                LeaderAndIsrTopicState(
                    name,
                    partition_states=[
                        LeaderAndIsrPartitionState(partition_index=number, leader=told)
                    ],
                )
                for name, number in partitions
            ]
        )
        rows = [
            LeaderAndIsrTopicError(
                topics[name].topic_id or bytes(16),
                [LeaderAndIsrPartitionError("", number, code, unclean, incarnation, leading)],
            )
            for name, number in partitions
        ]
        self.answer(broker, request, LeaderAndIsrResponse(topics=rows))

    def answer(self, broker: int, request: Request, response: Response) -> None:
        """From its present life."""
        epoch = self.context.image.brokers[BrokerId(broker)].epoch
        self.on(BrokerAnswered(BrokerId(broker), epoch, request, response))

    # What one looks at

    def state(self, name: str, partition: int = 0) -> PartitionState:
        """As it stands in the tree, which the image must agree with."""
        where = TopicPartition(name, partition)
        node = self.tree.nodes[PartitionStateZnode.path(where)]
        state = PartitionStateZnode.decode(where, node.data, node.version)
        image = self.context.image.partition(where)
        assert image is None or image.state == state, (image, state)
        return state

    def leads(self, name: str, partition: int = 0) -> tuple[int | None, tuple[int, ...], int]:
        """Leader, ISR, leader epoch."""
        state = self.state(name, partition)
        return state.leader, state.isr, state.leader_epoch

    def epoch(self, broker: int) -> BrokerEpoch:
        """Of its registration."""
        return BrokerEpoch(self.tree.nodes[BrokerZnode.path(BrokerId(broker))].czxid)

    def kinds(self, broker: int) -> list[str]:
        """What was sent to a broker."""
        return [type(it).__name__.removesuffix("Request") for to, it in self.sent if to == broker]

    def led(self, broker: int) -> dict[tuple[str, int], Any]:
        """The rows of the LeaderAndIsr requests to a broker, the newest of each partition."""
        return {
            (topic.topic_name, row.partition_index): row
            for to, request in self.sent
            if to == broker and isinstance(request, LeaderAndIsrRequest)
            for topic in request.topic_states
            for row in topic.partition_states
        }

    def metadata(self, broker: int) -> dict[tuple[str, int], Any]:
        """The rows of the UpdateMetadata requests to a broker, likewise."""
        return {
            (topic.topic_name, row.partition_index): row
            for to, request in self.sent
            if to == broker and isinstance(request, UpdateMetadataRequest)
            for topic in request.topic_states
            for row in topic.partition_states
        }

    def stops(self, broker: int) -> dict[tuple[str, int], Any]:
        """The rows of the StopReplica requests to a broker."""
        return {
            (topic.topic_name, row.partition_index): row
            for to, request in self.sent
            if to == broker and isinstance(request, StopReplicaRequest)
            for topic in request.topic_states
            for row in topic.partition_states
        }
