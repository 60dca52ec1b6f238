"""The loop around the controller's core: its queue, its lease, and what ends them.

Two loops compete on a simulated ZooKeeper. Between loop and ensemble stands a door that a test can
close, and what the controller tells its own broker is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import pytest

from odradek.broker.control.broker_channels import BrokerChannels, ChannelsDeps
from odradek.broker.control.controller_loop import ControllerDeps, ControllerLoop, NotController
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.broker import Layers, read
from odradek.config.findings import Given
from odradek.config.listeners import SecurityProtocol
from odradek.controller.events import CreationAsked, DeletionAsked, ElectionAsked, ElectionType
from odradek.controller.topics import NewTopic
from odradek.ensemble.client import News, ZooKeeperClient
from odradek.metadata.nouns import Broker, Endpoint
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.cluster import PERSISTENT_PATHS
from odradek.metadata.znodes.controller import NextControllerZnode, ReadyToServeZnode, Wish
from odradek.model.ids import BrokerId, TopicId
from odradek.model.positions import ControllerEpoch
from odradek.model.units import Millis, Timestamp
from odradek.peers.broker_channel import ChannelSettings
from odradek.ports import Journal
from odradek.sim.stage.clients import Keeper
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ADDRESS, ZooKeeperMachine
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from odradek.wire.messages.update_metadata import UpdateMetadataResponse
from odradek.wire.schema import Response
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import MultiFailed, OutcomeUnknown, SystemFault
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.client.session import Session, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute_requests import Create, Delete, GetChildren2, GetData, Multi

SESSION_TIMEOUT = Millis(6_000)


class InterceptedClient:
    """The client of one loop, with a door between it and the ensemble."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self.refuse: Callable[[Any], Answer | None] = lambda _: None
        self.held: asyncio.Future[None] | None = None  # what is asked waits for this

    @property
    def session_id(self) -> int:
        """The client's."""
        return self._client.session_id

    async def batch(self, operations: Sequence[Any]) -> list[Answer]:
        """As the client does it, unless a test wants it otherwise."""
        refused = [self.refuse(it) for it in operations]
        passed = [it for it, no in zip(operations, refused, strict=True) if no is None]
        answers = iter(await self._client.batch(passed))
        if self.held is not None:
            await self.held
        return [next(answers) if no is None else no for no in refused]


class Process:
    """One broker of which there is nothing but the controller's loop."""

    def __init__(self, world: World, number: int) -> None:
        self.number = BrokerId(number)
        self.heard: list[Any] = []
        self.machine = world.machine(f"broker-{number}")
        self.loop: ControllerLoop
        self.client: ZooKeeperClient
        self.door: InterceptedClient
        self.running: asyncio.Task[None]
        self._world = world
        self.read_settings: Callable[[Mapping[str, TopicId]], Awaitable[None]] = _reads_none
        self.machine.start(self._live)

    async def _live(self, machine: Machine) -> None:
        said = {"broker.id": str(self.number), "zookeeper.connect": "zookeeper:2181"}
        config, _ = read(Layers(static={key: Given(it, "here") for key, it in said.items()}))
        cluster = MetadataCache()
        cluster.me = self.number
        doors = Doors(machine.clock, machine.random, machine.network, (), "here", _no_journal)
        session = Session(
            Ensemble.parse("zookeeper:2181"),
            machine.random,
            SessionSettings(timeout=SESSION_TIMEOUT),
        )
        self.client = ZooKeeperClient(session, doors.network, doors.clock, self._on_news)
        self.door = InterceptedClient(self.client)
        settings = Settings(config)
        policy = ControllerPolicy(settings, doors.random)
        deps = ChannelsDeps(
            self.number,
            doors.network,
            doors.clock,
            policy.for_controllers,
            self._deliver,
            ChannelSettings("controller"),
        )
        of_controller = ControllerDeps(policy, partial(BrokerChannels, deps), self._read_settings)
        self.loop = ControllerLoop(
            self.door,  # type: ignore[arg-type]
            doors,
            settings,
            cluster,
            deps=of_controller,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.client.run())
            self.client.begin()
            self.running = tasks.create_task(self.loop.run())

    async def _read_settings(self, topics: Mapping[str, TopicId]) -> None:
        await self.read_settings(topics)

    def _on_news(self, news: News) -> None:
        if isinstance(news, WatchEvent):
            self.loop.on_watch(news.path)
            self.loop.on_tree_changed(frozenset({news.path}))
        elif news.status is Status.EXPIRED:
            self.loop.on_session_over()
            self.client.begin()
        elif news.status is Status.CONNECTED:
            _ = self.machine.spawn(self._register())

    async def _register(self) -> None:
        at = Endpoint("PLAINTEXT", f"broker-{self.number}", 9_092, SecurityProtocol.PLAINTEXT)
        data = BrokerZnode.encode(Broker(self.number, (at,)), Timestamp(0))
        path = BrokerZnode.path(self.number)
        if await self.client.exists(path) is None:
            await self.client.create(path, data, mode=CreateMode.EPHEMERAL)
        self.loop.on_tree_changed(frozenset({"*"}))

    async def _deliver(self, request: Any) -> Response:
        self.heard.append(request)
        if isinstance(request, StopReplicaRequest):
            rows = [
                StopReplicaPartitionError(topic.topic_name, row.partition_index)
                for topic in request.topic_states
                for row in topic.partition_states
            ]
            return StopReplicaResponse(partition_errors=rows)
        if isinstance(request, LeaderAndIsrRequest):
            return LeaderAndIsrResponse()
        return UpdateMetadataResponse()

    def asks(self, event: Any) -> Any:
        """The answer to an event of a client."""
        return self._world.ask(self.machine.name, _asked(self.loop, event))

    def begins(self, event: Any) -> "asyncio.Task[Any]":
        """Asks, and does not wait."""
        return self.machine.spawn(_asked(self.loop, event))

    @property
    def epoch(self) -> int | None:
        """Of its controllership, if it is the controller."""
        controller = self.loop.controller
        return None if controller is None else controller.context.lease.epoch


async def _asked(loop: ControllerLoop, event: Any) -> Any:
    try:
        return await loop.ask(event)
    except NotController as error:
        return error


async def _reads_none(_topics: Mapping[str, TopicId]) -> None:
    """Their settings are those of the cluster."""


def _no_journal() -> Journal:
    raise AssertionError("ZooKeeper runs elsewhere")


class LoopStage:
    """A ZooKeeper and some of these processes."""

    def __init__(self, count: int) -> None:
        self.world = World(1)
        self._count = count

    def __enter__(self) -> Self:
        self.world.__enter__()
        self.zookeeper = ZooKeeperMachine(self.world)
        self.zookeeper.start()
        self.keeper = Keeper(self.world, "operator", ADDRESS)
        for path in PERSISTENT_PATHS:
            parts = path.split("/")
            for end in range(2, len(parts) + 1):
                above = "/".join(parts[:end])
                if self.does(self.keeper.zookeeper.exists(above)) is None:
                    self.does(self.keeper.zookeeper.create(above))
        self.processes = [Process(self.world, it) for it in range(1, self._count + 1)]
        self.run(2)
        return self

    def __exit__(self, *error: object) -> None:
        self.world.__exit__(None, None, None)

    def run(self, seconds: float) -> None:
        """Time passes."""
        self.world.run(seconds=seconds)

    def does(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Something of the operator's."""
        return self.keeper.does(work)

    def get(self, path: str) -> bytes | None:
        """What stands in a znode, if it is there."""
        if self.does(self.keeper.zookeeper.exists(path)) is None:
            return None
        data: bytes = self.does(self.keeper.zookeeper.get(path)).data
        return data

    @property
    def controller(self) -> Process:
        """The only one."""
        (found,) = [it for it in self.processes if it.epoch is not None]
        return found

    @property
    def other(self) -> Process:
        """One that is not."""
        return next(it for it in self.processes if it.epoch is None)


@contextmanager
def ensemble(count: int = 1) -> Iterator[LoopStage]:
    """The stage of a test."""
    with LoopStage(count) as stage:
        yield stage


ORDERS = CreationAsked([NewTopic("orders", 1, 1)])


def test_one_of_them_is_elected_and_does_what_is_asked() -> None:
    """The other says that it is not, and writes nothing."""
    with ensemble(2) as t:
        assert isinstance(t.other.asks(ORDERS), NotController)
        outcome = t.controller.asks(ORDERS)["orders"]
        assert outcome.factor == 1
        assert t.get("/brokers/topics/orders/partitions/0/state") is not None


def test_a_connection_that_was_lost_does_not_cost_the_controllership() -> None:
    """The session lives, so /controller is still ours: the epoch stays as it is."""
    with ensemble() as t:
        for _ in range(3):
            t.world.wires.break_connections(t.processes[0].machine.host)
            t.run(2)
        assert t.controller.epoch == 1
        assert t.get("/controller_epoch") == b"1"


def test_an_expiry_ends_the_controllership_before_anything_else() -> None:
    """Who waits is told, and nothing is sent any more; another is elected."""
    with ensemble(2) as t:
        old, new = t.controller, t.other
        old.door.held = old.machine.spawn(_never())
        begun = old.begins(ORDERS)
        t.run(0.1)
        t.zookeeper.expire(old.client.session_id)
        t.run(1)
        assert old.loop.controller is None
        heard = len(old.heard)
        t.run(3)
        assert new.epoch == 2
        assert len(old.heard) == heard
        assert isinstance(old.asks(ElectionAsked(ElectionType.PREFERRED, None)), NotController)
        assert not begun.done() or isinstance(begun.result(), NotController)


def test_a_controller_whose_session_expired_is_elected_once_more() -> None:
    """The end of the session and its successor are two events, and one election."""
    with ensemble() as t:
        first = t.controller
        t.zookeeper.expire(first.client.session_id)
        t.run(30)
        assert t.controller.epoch == 2
        assert t.get("/controller_epoch") == b"2"


def test_a_controller_whose_epoch_was_raised_stops_in_the_middle() -> None:
    """It writes nothing more and tells nobody, and its own node does not stay behind."""
    with ensemble() as t:
        first = t.controller
        before = t.get("/controller_epoch")
        t.does(t.keeper.zookeeper.set("/controller_epoch", b"41", -1))
        heard = len(first.heard)
        assert isinstance(first.asks(ORDERS), NotController)
        assert len(first.heard) == heard
        assert t.get("/brokers/topics/orders") is None
        t.run(3)
        assert before == b"1"
        assert t.controller.epoch == 42
        assert t.controller.asks(ORDERS)["orders"].factor == 1


def test_a_deletion_by_a_controller_of_the_past_deletes_nothing() -> None:
    """Every delete is guarded by the epoch, that of the mark, too."""
    with ensemble() as t:
        t.controller.asks(ORDERS)
        first = t.controller
        t.does(t.keeper.zookeeper.set("/controller_epoch", b"41", -1))
        assert isinstance(first.asks(DeletionAsked(["orders"])), NotController)
        assert t.get("/brokers/topics/orders") is not None
        assert t.get("/admin/delete_topics/orders") is None


def test_a_deleted_topic_leaves_nothing_and_its_name_is_free_at_once() -> None:
    """Its settings go with it: the next topic of the name is made without an error."""
    with ensemble() as t:
        for _ in range(5):
            assert t.controller.asks(ORDERS)["orders"].factor == 1
            t.controller.asks(DeletionAsked(["orders"]))
            t.run(0.5)
            for path in ("/brokers/topics/orders", "/config/topics/orders"):
                assert t.get(path) is None


def test_a_controller_that_cannot_write_gives_its_node_up() -> None:
    """Another may be able to: a node that names one that does not act keeps all others out."""
    with ensemble(2) as t:
        broken, other = t.controller, t.other

        def fail(request: object) -> Answer | None:
            is_state = isinstance(request, Multi) and any("state" in it.path for it in request.ops)
            return SystemFault() if is_state else None

        broken.door.refuse = fail
        assert isinstance(broken.asks(ORDERS), NotController)
        t.run(0.5)
        assert broken.epoch is None
        assert other.epoch == 2
        assert t.get("/brokers/topics/orders/partitions/0/state") is not None


def test_a_controller_that_cannot_read_the_tree_gives_its_node_up() -> None:
    """Half an image is none: it was elected, and cannot act."""
    with ensemble(2) as t:
        first, other = t.controller, t.other
        failing = True

        def fail(request: object) -> Answer | None:
            return SystemFault() if failing and isinstance(request, GetChildren2) else None

        other.door.refuse = fail
        t.zookeeper.expire(first.client.session_id)
        t.run(0.1)
        assert other.epoch is None
        t.run(3)
        assert t.controller is first
        assert int(t.get("/controller_epoch") or 0) > 2
        failing = False
        assert first.asks(ORDERS)["orders"].factor == 1


def test_what_was_read_without_an_answer_is_read_again() -> None:
    """The connection was lost in between: a missing answer is no missing znode."""
    with ensemble() as t:
        t.controller.asks(ORDERS)
        lost: list[object] = []

        def lose(request: object) -> Answer | None:
            if isinstance(request, GetData | GetChildren2) and len(lost) < 5:
                lost.append(request)
                return OutcomeUnknown()
            return None

        t.controller.door.refuse = lose
        t.controller.loop.on_tree_changed(frozenset({"*"}))
        t.run(0.5)
        assert len(lost) == 5
        assert t.controller.epoch == 1
        controller = t.controller.loop.controller
        assert controller is not None
        assert "orders" in controller.context.image.topics
        assert BrokerId(1) in controller.context.image.brokers


@pytest.mark.parametrize("refusal", [OutcomeUnknown(), MultiFailed(SystemFault(), 1)])
def test_a_topic_that_could_not_be_deleted_keeps_its_mark(refusal: Answer) -> None:
    """It is tried again when the connection is back, or by a successor; else it would live on."""
    with ensemble() as t:
        t.controller.asks(ORDERS)
        mark = "/admin/delete_topics/orders"

        def refuse(request: object) -> Answer | None:
            if not isinstance(request, Multi):
                return None
            deleted = [it.path for it in request.ops if isinstance(it, Delete)]
            return refusal if "/brokers/topics/orders" in deleted else None

        t.controller.door.refuse = refuse
        t.controller.asks(DeletionAsked(["orders"]))
        t.run(0.5)
        assert t.does(t.keeper.zookeeper.exists(mark)) is not None
        assert t.get("/brokers/topics/orders") is not None
        controller = t.controller.loop.controller
        assert controller is not None
        assert "orders" in controller.context.image.topics
        t.controller.door.refuse = lambda _: None
        t.controller.loop.on_tree_changed(frozenset({"*"}))
        t.run(0.5)
        assert t.get("/brokers/topics/orders") is None
        assert t.does(t.keeper.zookeeper.exists(mark)) is None


def test_a_controller_that_resigns_while_it_writes_tells_nobody_what_it_wrote() -> None:
    """What was written stands, and the next controller reads it; brokers hear of it from that."""
    with ensemble() as t:
        first = t.controller
        first.door.held = held = t.world.loop.create_future()
        begun = first.begins(ORDERS)
        t.run(0.1)
        heard = len(first.heard)
        first.loop.resign("a test")
        held.set_result(None)
        first.door.held = None
        t.run(0.1)
        assert begun.done()
        assert isinstance(begun.result(), NotController)
        assert len(first.heard) == heard
        assert t.get("/brokers/topics/orders/partitions/0/state") is None


def test_a_controller_that_resigns_while_it_reads_settings_does_not_begin() -> None:
    """Its session ends while it waits for what is no step of its own."""
    with ensemble(2) as t:
        first, other = t.controller, t.other

        reads: list[str] = []

        async def read_settings(_topics: Mapping[str, TopicId]) -> None:
            reads.append("once more")
            if len(reads) == 1:
                other.loop.resign("a test")

        other.read_settings = read_settings
        first.machine.kill()
        t.run(SESSION_TIMEOUT / 1_000 + 2)
        assert len(reads) == 2
        assert other.epoch == 3
        assert {request.controller_epoch for request in other.heard} == {3}


def test_who_gets_ready_loads_the_image_before_it_says_so() -> None:
    """Else the controller would hand over to a broker that knows nothing yet."""
    with ensemble(2) as t:
        asked: list[Any] = []
        t.other.door.refuse = asked.append
        wish = Wish("a", t.other.number, ControllerEpoch(1), "an operator")
        data = NextControllerZnode.encode(wish)
        t.does(t.keeper.zookeeper.create(NextControllerZnode.PATH, data))
        t.run(2)
        loads = [at for at, it in enumerate(asked) if isinstance(it, GetChildren2)]
        says = [
            at
            for at, it in enumerate(asked)
            if isinstance(it, Multi)
            for op in it.ops
            if isinstance(op, Create) and op.path == ReadyToServeZnode.PATH
        ]
        assert loads
        assert says
        assert max(at for at in loads if asked[at].path == "/brokers/topics") < says[0]


def test_a_loop_that_ends_while_it_writes_leaves_nobody_waiting() -> None:
    """The broker stops, and ends once all its requests are answered."""
    with ensemble() as t:
        process = t.controller
        process.door.held = t.world.loop.create_future()
        begun = process.begins(ORDERS)
        t.run(0.1)
        process.loop.resign()
        process.running.cancel()
        t.run(0.1)
        assert begun.done()
        assert isinstance(begun.result(), NotController)


def test_one_state_that_cannot_be_written_harms_no_other() -> None:
    """Somebody has set an ACL on it, perhaps."""
    with ensemble() as t:
        path = "/brokers/topics/stuck/partitions/0/state"

        def fail(request: object) -> Answer | None:
            if isinstance(request, Multi):
                for at, op in enumerate(request.ops):
                    if op.path == path:
                        return MultiFailed(SystemFault(), at)
            return None

        t.controller.door.refuse = fail
        t.controller.asks(CreationAsked([NewTopic("stuck", 1, 1), NewTopic("orders", 1, 1)]))
        assert t.controller.epoch == 1
        assert t.get(path) is None
        assert t.get("/brokers/topics/orders/partitions/0/state") is not None


def test_bad_znodes_do_not_end_the_process() -> None:
    """A slip of the pen in any of the watched places; the controller goes on."""
    with ensemble() as t:
        for path in (
            "/brokers/ids/abc",
            "/admin/delete_topics/bad name",
            "/brokers/topics/bad name",
            "/admin/reassign_partitions",
            "/admin/preferred_replica_election",
            "/isr_change_notification/isr_change_0",
            "/log_dir_event_notification/log_dir_event_0",
        ):
            t.does(t.keeper.zookeeper.create(path, b"nonsense"))
        t.run(1)
        assert t.controller.asks(ORDERS)["orders"].factor == 1


def test_an_epoch_that_makes_no_sense_is_waited_out() -> None:
    """Nobody is elected until it is mended; the process lives."""
    with ensemble() as t:
        first = t.controller
        t.does(t.keeper.zookeeper.set("/controller_epoch", b"abc", -1))
        t.run(7)
        assert first.epoch is None
        t.does(t.keeper.zookeeper.set("/controller_epoch", b"7", -1))
        t.run(7)
        assert first.epoch == 8


def test_messages_name_the_epoch_and_the_life_of_their_receiver() -> None:
    """So that old ones have no effect."""
    with ensemble() as t:
        t.controller.asks(ORDERS)
        t.run(0.5)
        stat = t.does(t.keeper.zookeeper.exists("/brokers/ids/1"))
        assert {it.controller_epoch for it in t.controller.heard} == {1}
        assert {it.broker_epoch for it in t.controller.heard} == {stat.czxid}


def test_requests_whose_client_is_gone_are_dropped_before_they_begin() -> None:
    """A leader repeats AlterPartition on a new connection; the older copy must not come behind."""
    with ensemble() as t:
        loop = t.controller.loop

        async def ask() -> Any:
            try:
                return await loop.ask(ORDERS, lambda: False)
            except NotController as error:
                return error

        assert isinstance(t.world.ask("broker-1", ask()), NotController)
        assert t.get("/brokers/topics/orders") is None


async def _never() -> None:
    await asyncio.get_running_loop().create_future()


def test_what_was_loaded_for_a_wish_serves_one_controller() -> None:
    """What that one came to know besides is not true for the next, of the same broker."""
    with ensemble(2) as stage:
        other = stage.other
        wish = Wish("a", other.number, ControllerEpoch(1), "an operator")
        stage.controller.door.refuse = lambda request: (
            SystemFault("held") if isinstance(request, Multi) else None
        )
        data = NextControllerZnode.encode(wish)
        stage.does(stage.keeper.zookeeper.create(NextControllerZnode.PATH, data))
        stage.run(seconds=0.5)
        assert stage.get(ReadyToServeZnode.PATH) is not None
        name, loaded = other.machine.name, other.loop.standing_by.image
        first, _ = stage.world.ask(name, loaded())
        second, _ = stage.world.ask(name, loaded())
        assert second is not first
