"""What our client finds at every server, beyond what kazoo can do: see `zookeeper_contract.py`."""

import asyncio
from collections.abc import Callable

from odradek.model.units import MIB, Bytes, Millis
from odradek.zookeeper.client.errors import OutcomeUnknown, RequestTooLarge
from odradek.zookeeper.client.pipeline import PipelineLimits
from odradek.zookeeper.client.session import SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import (
    ALL_PERMISSIONS,
    ANY_VERSION,
    AddWatchMode,
    CreateMode,
    EventType,
    KeeperCode,
    WatcherType,
)
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_replies import Children, Children2, Data, Failed, Results
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Connect,
    Create,
    Create2,
    CreateTtl,
    Exists,
    GetChildren,
    GetChildren2,
    GetData,
    Multi,
    MultiRead,
    Ping,
    Request,
    SetData,
)
from tests.compat.zookeeper_arena import Arena, kill_session, on_a_loop, raw
from tests.compat.zookeeper_drivers import TIMEOUT, OurDriver, failure, ours

CREATED = EventType.NODE_CREATED
DELETED = EventType.NODE_DELETED
CHANGED = EventType.NODE_DATA_CHANGED
CHILDREN = EventType.NODE_CHILDREN_CHANGED


class OrderContract:
    """Many operations at once."""

    @on_a_loop
    async def test_a_batch_is_answered_in_its_order(self, arena: Arena) -> None:
        """Each operation sees all those before it; errors stand in their places."""
        async with arena.ours() as a:
            answers = await a.client.batch(
                [
                    Create2("/node", b"0"),
                    SetData("/node", b"1", 0),
                    SetData("/node", b"x", 0),
                    GetData("/node"),
                    Create("/node/b", b""),
                    GetData("/none"),
                    GetChildren("/node"),
                    GetChildren2("/node"),
                ]
            )
            codes = [getattr(answer, "keeper_code", 0) for answer in answers]
            assert codes == [0, 0, KeeperCode.BADVERSION, 0, 0, KeeperCode.NONODE, 0, 0]
            assert isinstance(answers[3], Data)
            assert answers[3].data == b"1"
            assert answers[6] == Children(["b"])
            assert isinstance(answers[7], Children2)
            assert answers[7].names == ["b"]

    @on_a_loop
    async def test_thousands_at_once(self, arena: Arena) -> None:
        """More than the window takes; each comes back to its place."""
        async with arena.ours() as a:
            count = 3_000
            await a.client.batch([Create2(f"/n{i}", b"%d" % i) for i in range(count)])
            answers = await a.client.batch([GetData(f"/n{i}") for i in range(count)])
            data = [answer.data for answer in answers if isinstance(answer, Data)]
            assert data == [b"%d" % i for i in range(count)]

    @on_a_loop
    async def test_an_event_comes_before_any_answer_that_shows_its_effect(
        self, arena: Arena
    ) -> None:
        """Read after read, while somebody else writes: never new data before its event."""
        async with arena.ours() as a, arena.ours() as b:
            await a.create("/node", b"0")
            for number in range(1, 30):
                data, _ = await a.get("/node", watch=True)
                assert data == b"%d" % (number - 1)
                write = asyncio.ensure_future(b.set("/node", b"%d" % number))
                while (await a.get("/node"))[0] == data:
                    assert len(a.events) in {number - 1, number}
                assert len(a.events) == number
                await write

    @on_a_loop
    async def test_reads_in_one_request(self, arena: Arena) -> None:
        """Each has its own outcome; all are of one moment."""
        async with arena.ours() as a:
            await a.create("/node", b"data")
            reads = MultiRead((GetData("/node"), GetData("/none"), GetChildren("/")))
            (answer,) = await a.client.batch([reads])
            assert isinstance(answer, Results)
            data, missing, names = answer.results
            assert isinstance(data, Data)
            assert data.data == b"data"
            assert missing == Failed(KeeperCode.NONODE)
            assert names == Children(["node"])

    @on_a_loop
    async def test_an_empty_multi_does_nothing(self, arena: Arena) -> None:
        """And succeeds in it."""
        async with arena.ours() as a:
            assert await a.client.multi([]) == []

    @on_a_loop
    async def test_no_data_is_not_empty_data(self, arena: Arena) -> None:
        """ZooKeeper keeps them apart."""
        async with arena.ours() as a:
            await a.client.batch([Create2("/none", None), Create2("/empty", b"")])
            assert (await a.get("/none"))[0] is None
            assert (await a.get("/empty"))[0] == b""
            assert (await a.get("/none"))[1].data_length == 0

    @on_a_loop
    async def test_what_is_too_large_is_not_sent(self, arena: Arena) -> None:
        """And if it were, the server would close the connection: our bound is the server's."""
        async with arena.ours() as a:
            await a.create("/node")
            (refused,) = await a.client.batch([SetData("/node", bytes(MIB), ANY_VERSION)])
            assert isinstance(refused, RequestTooLarge)
            assert a.statuses == [Status.CONNECTED]
        limits = PipelineLimits(request_bytes_max=Bytes(2 * MIB))
        async with arena.ours(settings=SessionSettings(timeout=TIMEOUT, limits=limits)) as b:
            (lost,) = await b.client.batch([SetData("/node", bytes(MIB), ANY_VERSION)])
            assert isinstance(lost, OutcomeUnknown)
            await b.client.connected()
            assert (await b.get("/node"))[0] == b""

    @on_a_loop
    async def test_paths_that_are_none(self, arena: Arena) -> None:
        """They make no nodes, and do no harm."""
        async with arena.ours() as a:
            await a.create("/x")
            for path in ("/x/", "/x/.", "/x/..", "/x/\x00", "/x/\x01", "/x/\ue000"):
                assert await failure(a.create(path)) == KeeperCode.BADARGUMENTS, path
            for path in ("/x//y", "/x/../y"):
                assert await failure(a.create(path)) == KeeperCode.NONODE, path
            assert await a.children("/") == ["x"]
            assert await a.children("/x") == []


class PersistentWatchContract:
    """Watches that stay."""

    @on_a_loop
    async def test_a_persistent_watch_sees_all_of_its_node(self, arena: Arena) -> None:
        """Before it is there, while it is, and when it comes again; nothing below."""
        async with arena.ours() as a, arena.ours() as b:
            await a.client.add_watch("/node")
            await _live(b, "/node")
            await a.settle()
            assert a.events == [
                WatchEvent(CREATED, "/node"),
                WatchEvent(CHANGED, "/node"),
                WatchEvent(CHILDREN, "/node"),
                WatchEvent(CHILDREN, "/node"),
                WatchEvent(DELETED, "/node"),
            ]
            await b.create("/node")
            await a.settle()
            assert a.events[5:] == [WatchEvent(CREATED, "/node")]

    @on_a_loop
    async def test_a_recursive_watch_sees_all_below(self, arena: Arena) -> None:
        """Each node's coming, changing and going; no lists of children."""
        async with arena.ours() as a, arena.ours() as b:
            await a.create("/top")
            await a.client.add_watch("/top", AddWatchMode.PERSISTENT_RECURSIVE)
            await b.create("/topmost")
            await _live(b, "/top/node")
            await a.settle()
            assert a.events == [
                WatchEvent(CREATED, "/top/node"),
                WatchEvent(CHANGED, "/top/node"),
                WatchEvent(CREATED, "/top/node/child"),
                WatchEvent(DELETED, "/top/node/child"),
                WatchEvent(DELETED, "/top/node"),
            ]

    @on_a_loop
    async def test_watches_of_both_kinds_make_one_event(self, arena: Arena) -> None:
        """A session is told once, however many of its watches it was."""
        async with arena.ours() as a, arena.ours() as b:
            await a.create("/node")
            await a.client.add_watch("/node")
            await a.client.add_watch("/", AddWatchMode.PERSISTENT_RECURSIVE)
            await a.get("/node", watch=True)
            await b.set("/node", b"1")
            await b.set("/node", b"2")
            await a.settle()
            assert a.events == [WatchEvent(CHANGED, "/node")] * 2

    @on_a_loop
    async def test_a_watch_that_was_removed_is_silent(self, arena: Arena) -> None:
        """What is not there cannot be removed."""
        async with arena.ours() as a, arena.ours() as b:
            await a.create("/node")
            for remove in (WatcherType.ANY, WatcherType.DATA, WatcherType.CHILDREN):
                code = await failure(a.client.remove_watches("/node", remove))
                assert code == KeeperCode.NOWATCHER
            await a.get("/node", watch=True)
            await a.children("/node", watch=True)
            code = await failure(b.client.remove_watches("/node"))
            assert code == KeeperCode.NOWATCHER
            await a.client.remove_watches("/node", WatcherType.DATA)
            await b.set("/node", b"")
            await a.settle()
            assert a.events == []
            await b.create("/node/child")
            await a.settle()
            assert a.events == [WatchEvent(CHILDREN, "/node")]
            await a.client.add_watch("/node")
            await a.client.remove_watches("/node", WatcherType.ANY)
            await b.set("/node", b"")
            await a.settle()
            assert len(a.events) == 1


async def _live(driver: OurDriver, path: str) -> None:
    """A node's whole life."""
    await driver.create(path)
    await driver.set(path, b"data")
    await driver.create(f"{path}/child")
    await driver.delete(f"{path}/child")
    await driver.delete(path)


class SessionContract:
    """Connections come and go, sessions stay; until they do not."""

    @on_a_loop
    async def test_a_session_survives_its_connection(self, arena: Arena) -> None:
        """The same session, with its nodes; whoever relies on it was told to stop meanwhile."""
        async with arena.proxy() as proxy, arena.ours(at=proxy.address) as a, arena.ours() as b:
            await a.create("/mine", mode=CreateMode.EPHEMERAL)
            before = a.identity
            proxy.cut()
            await a.recover()
            assert await a.exists("/mine") is not None
            assert a.identity == before
            assert a.statuses == [Status.CONNECTED, Status.DISCONNECTED, Status.CONNECTED]
            stat = await b.exists("/mine")
            assert stat is not None
            assert stat.ephemeral_owner == before[0]

    @on_a_loop
    async def test_a_lost_answer_says_nothing_of_the_outcome(self, arena: Arena) -> None:
        """The write took effect, and the caller is told that nobody knows: it has to look."""
        async with arena.proxy() as proxy, arena.ours(at=proxy.address) as a, arena.ours() as b:
            await a.create("/node", b"old")
            await b.get("/node", watch=True)
            proxy.deaf = True
            write = asyncio.ensure_future(
                a.client.batch([SetData("/node", b"new", 0), SetData("/node", b"newer", 1)])
            )
            await b.until(lambda: bool(b.events))
            proxy.deaf = False
            proxy.cut()
            assert [type(answer) for answer in await write] == [OutcomeUnknown] * 2
            await a.client.connected()
            assert (await a.get("/node"))[0] == b"newer"

    @on_a_loop
    async def test_what_happened_meanwhile_is_told_on_the_next_connection(
        self, arena: Arena
    ) -> None:
        """Watches of each kind are armed anew, as of the last that we knew."""
        async with arena.proxy() as proxy, arena.ours(at=proxy.address) as a, arena.ours() as b:
            for path in ("/data", "/list", "/end", "/same", "/tree"):
                await a.create(path)
            await a.get("/data", watch=True)
            await a.children("/list", watch=True)
            await a.exists("/end", watch=True)
            await a.exists("/birth", watch=True)
            await a.get("/same", watch=True)
            await a.client.add_watch("/tree", AddWatchMode.PERSISTENT_RECURSIVE)
            proxy.refusing = True
            proxy.cut()
            await a.until(lambda: a.client.status is Status.DISCONNECTED)
            await b.set("/data", b"")
            await b.create("/list/child")
            await b.delete("/end")
            await b.create("/birth")
            proxy.refusing = False
            await a.settle()
            assert sorted(a.events) == sorted(
                [
                    WatchEvent(CHANGED, "/data"),
                    WatchEvent(CHILDREN, "/list"),
                    WatchEvent(DELETED, "/end"),
                    WatchEvent(CREATED, "/birth"),
                ]
            )
            a.events.clear()
            await b.set("/same", b"")
            await b.create("/tree/node")
            await b.set("/data", b"")
            await a.settle()
            assert a.events == [WatchEvent(CHANGED, "/same"), WatchEvent(CREATED, "/tree/node")]

    @on_a_loop
    async def test_credentials_go_along(self, arena: Arena) -> None:
        """To every connection, before anything is asked on it."""
        async with arena.proxy() as proxy, arena.ours(at=proxy.address) as a:
            await a.authenticate("digest", b"anna:secret")
            await a.create("/hers", acl=(Acl(ALL_PERMISSIONS, Identity("auth", "")),))
            proxy.cut()
            await a.recover()
            await a.get("/hers")
            assert Identity("digest", "anna") in await a.client.who_am_i()

    @on_a_loop
    async def test_credentials_that_nobody_can_check_end_the_session(self, arena: Arena) -> None:
        """The server closes the connection; trying again would help nobody."""
        async with arena.ours() as a:
            code = await failure(a.authenticate("nonsense", b"x"))
            assert code == KeeperCode.AUTHFAILED
            assert a.client.status is Status.AUTH_FAILED
            assert await failure(a.get("/")) == KeeperCode.AUTHFAILED

    @on_a_loop
    async def test_the_next_server_has_the_session_too(self, arena: Arena) -> None:
        """The connect string names several; a session moves from one to the other."""
        async with arena.proxy() as one, arena.proxy() as other:
            await arena.make_root()
            async with ours(f"{one.connect_string},{arena.through(other.address)}") as a:
                before = a.identity
                for _ in range(4):
                    here, there = (one, other) if one.open else (other, one)
                    here.cut()
                    await a.recover()
                    assert (here.open, there.open) == (False, True)
                    assert a.identity == before

    @on_a_loop
    async def test_expiry_ends_everything(self, arena: Arena) -> None:
        """Nodes and watches are gone; operations fail until the owner begins a new session."""
        async with arena.proxy() as proxy, arena.ours(at=proxy.address) as a, arena.ours() as b:
            await a.create("/mine", mode=CreateMode.EPHEMERAL)
            await a.create("/node")
            await a.get("/node", watch=True)
            old = a.identity
            await b.exists("/mine", watch=True)
            await kill_session(arena.address, old)
            await b.settle()
            assert b.events == [WatchEvent(DELETED, "/mine")]
            await a.until(lambda: Status.EXPIRED in a.statuses)
            assert await failure(a.exists("/")) == KeeperCode.SESSIONEXPIRED
            assert a.statuses[-1] is Status.EXPIRED
            a.client.begin()
            await a.client.connected()
            assert a.identity[0] != old[0]
            await b.set("/node", b"")
            await a.settle()
            assert a.events == []
            await a.create("/mine", mode=CreateMode.EPHEMERAL)

    @on_a_loop
    async def test_a_session_that_is_silent_expires(self, arena: Arena) -> None:
        """After its timeout; until then its nodes stay."""
        async with arena.ours() as b, raw(arena.address) as wire:
            await wire.greet(Connect(0, 1_500))
            path = f"{arena.root}/mine"
            await wire.ask(1, Create2(path, b"", OPEN_ACL, CreateMode.EPHEMERAL))
            await b.sync("/")
            assert await b.exists("/mine", watch=True) is not None
            await b.until(lambda: bool(b.events))
            assert b.events == [WatchEvent(DELETED, "/mine")]

    @on_a_loop
    async def test_pings_keep_a_session(self, arena: Arena) -> None:
        """One that says nothing else lives on beyond its timeout."""
        async with arena.ours() as b, raw(arena.address) as wire:
            await wire.greet(Connect(0, 1_500))
            path = f"{arena.root}/mine"
            await wire.ask(1, Create2(path, b"", OPEN_ACL, CreateMode.EPHEMERAL))
            for _ in range(6):
                await asyncio.sleep(0.4)
                await wire.ask(-2, Ping())
            assert await b.exists("/mine") is not None

    @on_a_loop
    async def test_a_session_is_taken_up_by_its_password_only(self, arena: Arena) -> None:
        """Its number is no secret; a wrong password is answered as if it had expired."""
        async with arena.ours() as a:
            session_id, password = a.identity
            for wrong in (Connect(0, 10_000, session_id, bytes(16)), Connect(0, 10_000, 4711)):
                async with raw(arena.address) as wire:
                    refusal = await wire.greet(wrong)
                    assert (refusal.timeout, refusal.session_id) == (0, 0)
            async with raw(arena.address) as wire:
                taken = await wire.greet(Connect(0, 10_000, session_id, password))
                assert taken.session_id == session_id

    @on_a_loop
    async def test_a_session_moves_to_the_newest_connection(self, arena: Arena) -> None:
        """The one before is closed: two ends must not act for one session."""
        async with raw(arena.address) as old, raw(arena.address) as new:
            hello = await old.greet(Connect(0, 10_000))
            await new.greet(Connect(0, 10_000, hello.session_id, hello.password))
            await new.ask(1, Exists("/"))
            try:
                await old.packet()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            else:
                raise AssertionError("the old connection is still open")

    @on_a_loop
    async def test_a_client_from_the_future_is_turned_away(self, arena: Arena) -> None:
        """It has seen what this server has not: it must find one that has."""
        async with raw(arena.address) as wire:
            try:
                await wire.greet(Connect(1 << 62, 10_000))
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            else:
                raise AssertionError("it was taken")


class OtherNodesContract:
    """Nodes that go by themselves, and those that are always there."""

    @on_a_loop
    async def test_containers_and_ttls_look_like_other_nodes(self, arena: Arena) -> None:
        """No session owns them, and they can have children."""
        async with arena.ours() as a:
            made = [
                await a.client.create("/container", mode=CreateMode.CONTAINER),
                await a.client.create(
                    "/timed", mode=CreateMode.PERSISTENT_WITH_TTL, ttl=Millis(60_000)
                ),
                await a.client.create(
                    "/timed/s-", mode=CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, ttl=Millis(60_000)
                ),
            ]
            assert [node.path for node in made] == ["/container", "/timed", "/timed/s-0000000000"]
            assert {node.stat.ephemeral_owner for node in made} == {0}
            await a.create("/container/child")

    @on_a_loop
    async def test_a_ttl_must_be_a_time(self, arena: Arena) -> None:
        """Above nothing, and within what the field can hold."""
        async with arena.ours() as a:
            for ttl in (0, -1, 1 << 40):
                bad = CreateTtl("/timed", b"", OPEN_ACL, CreateMode.PERSISTENT_WITH_TTL, ttl)
                (answer,) = await a.client.batch([bad])
                assert getattr(answer, "keeper_code", 0) == KeeperCode.BADARGUMENTS

    @on_a_loop
    async def test_the_server_has_nodes_of_its_own(self, arena: Arena) -> None:
        """They are there, and stay."""
        async with arena.bare() as a:
            assert "zookeeper" in await a.children("/")
            assert {"config", "quota"} <= set(await a.children("/zookeeper"))
            for path in ("/", "/zookeeper"):
                assert await failure(a.delete(path)) == KeeperCode.BADARGUMENTS
            assert await failure(a.create("/")) == KeeperCode.NODEEXISTS

    @on_a_loop
    async def test_thousands_of_children(self, arena: Arena) -> None:
        """A list that is larger than one read from the network."""
        async with arena.ours() as a:
            names = sorted(f"child-{i:05d}" for i in range(5_000))
            await a.client.batch([Create2(f"/{name}", b"") for name in names])
            assert await a.children("/") == names

    @on_a_loop
    async def test_conditional_sets_in_many_multis(self, arena: Arena) -> None:
        """As a controller writes its partitions: all at once, each guarded and by version."""
        async with arena.ours() as a:
            count, size = 2_000, 200
            await a.create("/epoch")
            await a.client.batch([Create2(f"/p{i}", bytes(150)) for i in range(count)])
            writes: Callable[[int], Request] = lambda start: Multi(  # noqa: E731 - one use
                (
                    Check("/epoch", 0),
                    *[SetData(f"/p{i}", bytes(151), 0) for i in range(start, start + size)],
                )
            )
            answers = await a.client.batch([writes(start) for start in range(0, count, size)])
            assert all(isinstance(answer, Results) for answer in answers)
            stats = await a.client.batch([GetData(f"/p{i}") for i in range(count)])
            assert {s.stat.version for s in stats if isinstance(s, Data)} == {1}
