"""What every client finds at every server: nodes, versions, watches, multis, ACLs, sessions.

Each class is tried on several pairs of client and server; see `test_zookeeper_contract.py`.
"""

import asyncio

from odradek.zookeeper.client.session import WatchEvent
from odradek.zookeeper.protocol.codes import (
    ALL_PERMISSIONS,
    CreateMode,
    EventType,
    KeeperCode,
    Permission,
)
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_requests import Check, Create2, Delete, SetData
from tests.compat.zookeeper_arena import Arena, on_a_loop
from tests.compat.zookeeper_drivers import Driver, failure

ANYONE_READS = (Acl(Permission.READ, Identity("world", "anyone")),)
OF_ITS_CREATOR = (Acl(ALL_PERMISSIONS, Identity("auth", "")),)


class NodeContract:
    """The tree."""

    @on_a_loop
    async def test_a_node_is_born_with_version_zero(self, arena: Arena) -> None:
        """One transaction makes it, and it counts the parent's children too."""
        async with arena.open() as a:
            assert await a.create("/node", b"data") == "/node"
            data, stat = await a.get("/node")
            _, parent = await a.get("/")
            assert data == b"data"
            assert stat.czxid == stat.mzxid == stat.pzxid == parent.pzxid
            assert stat.ctime == stat.mtime
            assert stat[4:10] == (0, 0, 0, 0, 4, 0)
            assert (parent.version, parent.cversion, parent.num_children) == (0, 1, 1)

    @on_a_loop
    async def test_a_write_counts_the_version_up(self, arena: Arena) -> None:
        """And nothing else but the time and the transaction of the write."""
        async with arena.open() as a:
            await a.create("/node", b"old")
            _, before = await a.get("/node")
            after = await a.set("/node", b"newer")
            assert await a.get("/node") == (b"newer", after)
            assert after.mzxid > before.mzxid
            assert after == before._replace(
                mzxid=after.mzxid, mtime=after.mtime, version=1, data_length=5
            )

    @on_a_loop
    async def test_a_write_that_names_another_version_is_refused(self, arena: Arena) -> None:
        """Of two who read the same version only one can write."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/node")
            await a.set("/node", b"a", 0)
            assert await failure(b.set("/node", b"b", 0)) == KeeperCode.BADVERSION
            assert await failure(b.delete("/node", 0)) == KeeperCode.BADVERSION
            await b.sync("/node")
            assert (await b.get("/node"))[0] == b"a"
            await b.delete("/node", 1)

    @on_a_loop
    async def test_what_is_not_there(self, arena: Arena) -> None:
        """Each operation says so, exists as an answer."""
        async with arena.open() as a:
            assert await a.exists("/node") is None
            for attempt in (
                a.get("/node"),
                a.set("/node", b""),
                a.delete("/node"),
                a.children("/node"),
                a.acl("/node"),
                a.set_acl("/node", OPEN_ACL),
                a.create("/node/child"),
            ):
                assert await failure(attempt) == KeeperCode.NONODE

    @on_a_loop
    async def test_what_is_there_already(self, arena: Arena) -> None:
        """It is not made again; a node with children is not deleted."""
        async with arena.open() as a:
            await a.create("/node")
            assert await failure(a.create("/node")) == KeeperCode.NODEEXISTS
            await a.create("/node/child")
            assert await failure(a.delete("/node")) == KeeperCode.NOTEMPTY
            await a.delete("/node/child")
            await a.delete("/node")
            assert await a.children("/") == []

    @on_a_loop
    async def test_a_parent_counts_its_children_come_and_go(self, arena: Arena) -> None:
        """Its cversion counts both; its data and version do not change."""
        async with arena.open() as a:
            await a.create("/parent", b"data")
            for name in ("x", "y", "z"):
                await a.create(f"/parent/{name}")
            await a.set("/parent/x", b"no matter")
            await a.delete("/parent/y")
            data, stat = await a.get("/parent")
            assert await a.children("/parent") == ["x", "z"]
            assert (data, stat.version, stat.cversion, stat.num_children) == (b"data", 0, 4, 2)
            assert stat.pzxid > stat.mzxid == stat.czxid

    @on_a_loop
    async def test_a_sequence_counts_in_its_parent(self, arena: Arena) -> None:
        """Ten digits; shared by all names; a number is never given twice."""
        async with arena.open() as a:
            mode = CreateMode.PERSISTENT_SEQUENTIAL
            assert await a.create("/a-", mode=mode) == "/a-0000000000"
            assert await a.create("/plain") == "/plain"
            assert await a.create("/b-", mode=mode) == "/b-0000000002"
            await a.delete("/b-0000000002")
            assert await a.create("/b-", mode=mode) == "/b-0000000003"
            await a.create("/below")
            assert await a.create("/below/", mode=mode) == "/below/0000000000"

    @on_a_loop
    async def test_large_data_comes_back_as_it_was(self, arena: Arena) -> None:
        """Close to the limit of a packet."""
        async with arena.open() as a:
            data = bytes(range(256)) * 4_000
            await a.create("/large", data)
            assert (await a.get("/large"))[0] == data
            assert (await a.set("/large", b"")).data_length == 0
            assert (await a.get("/large"))[0] == b""

    @on_a_loop
    async def test_names_may_be_in_any_script(self, arena: Arena) -> None:
        """They are UTF-8 on the wire."""
        async with arena.open() as a:
            await a.create("/Größe 大きさ ♥")
            assert await a.children("/") == ["Größe 大きさ ♥"]

    @on_a_loop
    async def test_transactions_have_one_order(self, arena: Arena) -> None:
        """Whoever makes them, each has a number of its own, and one client sees them grow."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/a")
            await a.create("/b")
            by_a, by_b = await asyncio.gather(_zxids(a, "/a"), _zxids(b, "/b"))
            assert by_a == sorted(by_a)
            assert by_b == sorted(by_b)
            assert len({*by_a, *by_b}) == 40

    @on_a_loop
    async def test_what_was_written_is_seen_after_a_sync(self, arena: Arena) -> None:
        """By everybody."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/node")
            for number in range(20):
                await a.set("/node", b"%d" % number)
                await b.sync("/node")
                assert (await b.get("/node"))[0] == b"%d" % number

    @on_a_loop
    async def test_a_chroot_hides_the_rest(self, arena: Arena) -> None:
        """The client's root is not the server's; what is outside cannot be named."""
        async with arena.open() as a:
            assert await a.children("/") == []
            await a.create("/node")
            assert await a.children("/") == ["node"]
            assert await a.exists("/zookeeper") is None


async def _zxids(driver: Driver, path: str) -> list[int]:
    return [(await driver.set(path, b"")).mzxid for _ in range(20)]


class EphemeralContract:
    """Nodes that go with their session."""

    @on_a_loop
    async def test_a_node_goes_with_its_session(self, arena: Arena) -> None:
        """Everybody can see whose it is."""
        async with arena.open() as b:
            async with arena.open() as a:
                await a.create("/mine", mode=CreateMode.EPHEMERAL)
                path = await a.create("/also-", mode=CreateMode.EPHEMERAL_SEQUENTIAL)
                assert path == "/also-0000000001"
                await b.sync("/")
                stat = await b.exists("/mine")
                assert stat is not None
                assert stat.ephemeral_owner == a.identity[0]
            await b.sync("/")
            assert await b.children("/") == []
            assert (await b.get("/"))[1].cversion == 4

    @on_a_loop
    async def test_it_can_have_no_children(self, arena: Arena) -> None:
        """They would outlive it."""
        async with arena.open() as a:
            await a.create("/mine", mode=CreateMode.EPHEMERAL)
            code = await failure(a.create("/mine/child"))
            assert code == KeeperCode.NOCHILDRENFOREPHEMERALS

    @on_a_loop
    async def test_somebody_else_may_delete_it(self, arena: Arena) -> None:
        """It is a node like others; the session that made it lives on."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/mine", mode=CreateMode.EPHEMERAL)
            await b.delete("/mine")
            await a.create("/mine", mode=CreateMode.EPHEMERAL)


class WatchContract:
    """One-shot watches."""

    @on_a_loop
    async def test_data(self, arena: Arena) -> None:
        """A watch on data fires once, for a write or for the node's end."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/node")
            await a.get("/node", watch=True)
            await b.create("/node/child")
            await b.set("/node/child", b"")
            await b.delete("/node/child")
            await b.set("/node", b"1")
            await b.set("/node", b"2")
            await a.settle()
            assert a.events == [WatchEvent(EventType.NODE_DATA_CHANGED, "/node")]
            await a.get("/node", watch=True)
            await b.delete("/node")
            await a.settle()
            assert a.events[1:] == [WatchEvent(EventType.NODE_DELETED, "/node")]

    @on_a_loop
    async def test_existence(self, arena: Arena) -> None:
        """A watch on a node that is not there fires when it comes; then it is one on data."""
        async with arena.open() as a, arena.open() as b:
            assert await a.exists("/node", watch=True) is None
            await b.create("/node")
            await a.settle()
            assert a.events == [WatchEvent(EventType.NODE_CREATED, "/node")]
            await a.exists("/node", watch=True)
            await b.set("/node", b"")
            await a.settle()
            assert a.events[1:] == [WatchEvent(EventType.NODE_DATA_CHANGED, "/node")]
            await a.exists("/node", watch=True)
            await b.delete("/node")
            await a.settle()
            assert a.events[2:] == [WatchEvent(EventType.NODE_DELETED, "/node")]

    @on_a_loop
    async def test_children(self, arena: Arena) -> None:
        """A watch on children fires when one comes or goes, not when one is written."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/node")
            await a.children("/node", watch=True)
            await b.create("/node/child")
            await a.settle()
            assert a.events == [WatchEvent(EventType.NODE_CHILDREN_CHANGED, "/node")]
            await a.children("/node", watch=True)
            await b.set("/node/child", b"")
            await b.set("/node", b"")
            await b.create("/node/child/child")
            await b.delete("/node/child/child")
            await a.settle()
            assert len(a.events) == 1
            await b.delete("/node/child")
            await a.settle()
            assert a.events[1:] == [WatchEvent(EventType.NODE_CHILDREN_CHANGED, "/node")]

    @on_a_loop
    async def test_the_end_of_a_node_is_told_once(self, arena: Arena) -> None:
        """However many watches it had; its parent's watch hears of it after that."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/node")
            await a.children("/", watch=True)
            await a.get("/node", watch=True)
            await a.children("/node", watch=True)
            await a.exists("/node", watch=True)
            await b.delete("/node")
            await a.settle()
            ends = [event for event in a.events if event.path == "/node"]
            assert set(ends) == {WatchEvent(EventType.NODE_DELETED, "/node")}
            assert a.events[-1] == WatchEvent(EventType.NODE_CHILDREN_CHANGED, "/")

    @on_a_loop
    async def test_a_watch_that_is_set_twice_fires_once(self, arena: Arena) -> None:
        """It is one watch: of one session, on one node."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/node")
            await a.get("/node", watch=True)
            await a.get("/node", watch=True)
            await b.set("/node", b"")
            await a.settle()
            assert len(a.events) == 1

    @on_a_loop
    async def test_own_changes_are_told_too(self, arena: Arena) -> None:
        """A watch does not ask who it was."""
        async with arena.open() as a:
            await a.create("/node")
            await a.get("/node", watch=True)
            await a.set("/node", b"")
            await a.settle()
            assert a.events == [WatchEvent(EventType.NODE_DATA_CHANGED, "/node")]

    @on_a_loop
    async def test_a_read_that_fails_sets_no_watch(self, arena: Arena) -> None:
        """Only exists can wait for what is not there."""
        async with arena.open() as a, arena.open() as b:
            assert await failure(a.get("/node", watch=True)) == KeeperCode.NONODE
            assert await failure(a.children("/node", watch=True)) == KeeperCode.NONODE
            await b.create("/node")
            await b.create("/node/child")
            await a.settle()
            assert a.events == []

    @on_a_loop
    async def test_the_end_of_a_session_is_told(self, arena: Arena) -> None:
        """Its ephemeral nodes are deleted like others: that is how the living learn of the dead."""
        async with arena.open() as b:
            async with arena.open() as a:
                await a.create("/mine", mode=CreateMode.EPHEMERAL)
                await b.exists("/mine", watch=True)
                await b.children("/", watch=True)
            await b.settle()
            assert b.events == [
                WatchEvent(EventType.NODE_DELETED, "/mine"),
                WatchEvent(EventType.NODE_CHILDREN_CHANGED, "/"),
            ]


class MultiContract:
    """Several writes as one."""

    @on_a_loop
    async def test_it_is_one_transaction(self, arena: Arena) -> None:
        """Each operation sees those before it; all have the same number and the same moment."""
        async with arena.open() as a:
            results = await a.multi(
                [
                    Create2("/node", b"0"),
                    Check("/node", 0),
                    SetData("/node", b"1", 0),
                    Create2("/node/s-", b"", OPEN_ACL, CreateMode.PERSISTENT_SEQUENTIAL),
                    Create2("/gone", b""),
                    Delete("/gone", 0),
                ]
            )
            data, stat = await a.get("/node")
            assert results[0] == "/node"
            assert results[3:] == ["/node/s-0000000000", "/gone", None]
            assert (data, stat.version, stat.num_children) == (b"1", 1, 1)
            assert stat.czxid == stat.mzxid == stat.pzxid
            assert await a.exists("/gone") is None

    @on_a_loop
    async def test_it_is_done_whole_or_not_at_all(self, arena: Arena) -> None:
        """One operation that fails undoes those before it, and says which one it was."""
        async with arena.open() as a:
            await a.create("/node", b"old")
            _, before = await a.get("/node")
            for bad, code in (
                (Check("/node", 7), KeeperCode.BADVERSION),
                (SetData("/none", b"", -1), KeeperCode.NONODE),
                (Create2("/node", b""), KeeperCode.NODEEXISTS),
                (Delete("/other", -1), KeeperCode.NOTEMPTY),
            ):
                attempt = a.multi(
                    [
                        SetData("/node", b"new", 0),
                        Create2("/other", b""),
                        Create2("/other/child", b""),
                        bad,
                        Delete("/node", -1),
                    ]
                )
                assert await failure(attempt) == code
                assert await a.get("/node") == (b"old", before)
                assert await a.children("/") == ["node"]

    @on_a_loop
    async def test_a_guard_keeps_others_out(self, arena: Arena) -> None:
        """As a controller's epoch does: whoever was replaced can write nothing any more."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/epoch")
            await a.create("/state")
            await a.multi([Check("/epoch", 0), SetData("/state", b"a", 0)])
            await b.set("/epoch", b"2", 0)
            attempt = a.multi([Check("/epoch", 0), SetData("/state", b"late", 1)])
            assert await failure(attempt) == KeeperCode.BADVERSION
            await b.multi([Check("/epoch", 1), SetData("/state", b"b", 1)])
            await a.sync("/")
            assert (await a.get("/state"))[0] == b"b"

    @on_a_loop
    async def test_an_election(self, arena: Arena) -> None:
        """An ephemeral node and a counter as one: of two who try one wins, and leaves one trace."""
        async with arena.open() as a, arena.open() as b:
            await a.create("/epoch")
            attempts = [
                failure(
                    driver.multi(
                        [
                            Create2("/controller", b"", OPEN_ACL, CreateMode.EPHEMERAL),
                            SetData("/epoch", b"1", 0),
                        ]
                    )
                )
                for driver in (a, b)
            ]
            codes = await asyncio.gather(*attempts)
            assert sorted(codes) == [KeeperCode.NODEEXISTS, 0]
            _, stat = await a.get("/controller")
            winner = a if codes[0] == 0 else b
            assert stat.ephemeral_owner == winner.identity[0]
            assert (await a.get("/epoch"))[1].version == 1

    @on_a_loop
    async def test_watches_see_all_of_it(self, arena: Arena) -> None:
        """In the order of its operations; nothing of one that failed."""
        async with arena.open() as a, arena.open() as b:
            for path in ("/x", "/y"):
                await a.create(path)
                await a.get(path, watch=True)
            await failure(b.multi([SetData("/y", b"", -1), Check("/x", 7)]))
            await a.settle()
            assert a.events == []
            await b.multi([SetData("/y", b"", -1), Delete("/x", -1)])
            await a.settle()
            assert a.events == [
                WatchEvent(EventType.NODE_DATA_CHANGED, "/y"),
                WatchEvent(EventType.NODE_DELETED, "/x"),
            ]


class AccessContract:
    """Who may do what."""

    @on_a_loop
    async def test_nodes_are_open_unless_told_otherwise(self, arena: Arena) -> None:
        """The ACL has a version of its own."""
        async with arena.open() as a:
            await a.create("/node")
            assert (await a.acl("/node"))[0] == OPEN_ACL
            stat = await a.set_acl("/node", OPEN_ACL, 0)
            assert (stat.version, stat.aversion) == (0, 1)
            assert await failure(a.set_acl("/node", OPEN_ACL, 0)) == KeeperCode.BADVERSION

    @on_a_loop
    async def test_what_is_not_allowed_is_refused(self, arena: Arena) -> None:
        """Writing needs its permission; making and deleting need the parent's."""
        async with arena.open() as a:
            await a.create("/node")
            await a.create("/node/child")
            await a.set_acl("/node", ANYONE_READS)
            await a.get("/node")
            await a.children("/node")
            for attempt in (
                a.set("/node", b""),
                a.create("/node/other"),
                a.delete("/node/child"),
                a.set_acl("/node", OPEN_ACL),
                a.multi([SetData("/node/child", b"", -1), SetData("/node", b"", -1)]),
            ):
                assert await failure(attempt) == KeeperCode.NOAUTH
            await a.set("/node/child", b"")

    @on_a_loop
    async def test_a_password_opens(self, arena: Arena) -> None:
        """The digest of the creator stands in the ACL; who knows the password is the creator."""
        async with arena.open() as a, arena.open() as b:
            await a.authenticate("digest", b"anna:secret")
            await a.create("/hers", b"data", acl=OF_ITS_CREATOR)
            (acl,), _ = await a.acl("/hers")
            assert acl.identity == Identity("digest", "anna:Wap/fLaD11BLJBT+7fkDcVxaT7c=")
            await b.sync("/")
            assert await failure(b.get("/hers")) == KeeperCode.NOAUTH
            assert await failure(b.exists("/hers")) == KeeperCode.NOAUTH
            assert await b.children("/") == ["hers"]
            await b.authenticate("digest", b"anna:wrong")
            assert await failure(b.get("/hers")) == KeeperCode.NOAUTH
            await b.authenticate("digest", b"anna:secret")
            assert (await b.get("/hers"))[0] == b"data"

    @on_a_loop
    async def test_an_acl_must_mean_something(self, arena: Arena) -> None:
        """Not a scheme that does not exist, nor a creator whom nobody knows."""
        async with arena.open() as a:
            for acl in (
                (Acl(ALL_PERMISSIONS, Identity("nonsense", "x")),),
                (Acl(ALL_PERMISSIONS, Identity("digest", "no colon")),),
                OF_ITS_CREATOR,
            ):
                assert await failure(a.create("/node", acl=acl)) == KeeperCode.INVALIDACL
            await a.create("/node")
