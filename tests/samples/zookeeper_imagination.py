"""What comes to mind, for servers that are asked the same: see `test_zookeeper_differential.py`.

Paths that are none, modes and versions that cannot be, ACLs of nobody, watches on anything; and
enough good sense among it that there is a tree to see. Left out is where ZooKeeper 3.8 has bugs.
"""

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from odradek.zookeeper.protocol.codes import ALL_PERMISSIONS, CreateMode, Permission
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    Check,
    Create,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    Exists,
    GetAcl,
    GetAllChildrenNumber,
    GetChildren,
    GetChildren2,
    GetData,
    GetEphemerals,
    Multi,
    MultiRead,
    RemoveWatches,
    Request,
    SetAcl,
    SetData,
    SetWatches,
    SetWatches2,
    Sync,
    WhoAmI,
    WriteOp,
)

SESSIONS: Final = 3


class Reconnect(NamedTuple):
    """Not a request: the connection breaks, and the session is taken up on another."""


class Leave(NamedTuple):
    """Not a request: the session is closed, and a new one begins."""


Turn = Request | Reconnect | Leave


class Imagination:
    """Of one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.root = f"/differ-{seed}"

    def turn(self, marks: int) -> Turn:
        """Anything; writes that succeed most of all, or there would be nothing to see."""
        kinds: tuple[tuple[int, Callable[[], Turn]], ...] = (
            (30, self.write),
            (12, self.read),
            (8, self.multi),
            (2, self.multi_read),
            (3, lambda: SetAcl(self.path(), self.acl(), self.version())),
            (3, lambda: GetAcl(self.path())),
            (4, self.lasting),
            (2, lambda: self.watches_again(marks)),
            (1, lambda: Sync(self.path())),
            (1, lambda: GetAllChildrenNumber(self.path())),
            (1, lambda: GetEphemerals(self.chance.choice(("", "/", self.root, self.path())))),
            (1, self.auth),
            (1, WhoAmI),
            (1, Reconnect),
            (1, Leave),
        )
        weights = [weight for weight, _ in kinds]
        ((_, make),) = self.chance.choices(kinds, weights)
        return make()

    def write(self, *, alone: bool = True) -> WriteOp:
        """Of one node."""
        if self.chance.random() < 0.02:  # for others the root and the system's nodes change
            system = self.chance.choice(
                ("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config")
            )
            return self.chance.choice((Create(system, b""), Delete(system, self.version())))
        path, data, acl = self.path(), self.data(), self.acl()
        mode = self.chance.choice((0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, -1, 7))
        match self.chance.randrange(11 if alone else 12):
            case 0 | 1 | 2:
                return Create2(path, data, acl, mode)
            case 3 | 4:
                return Create(path, data, acl, mode)
            case 5:
                return CreateContainer(path, data, acl, self.chance.choice((4, 4, 4, mode)))
            case 6:
                # A real server dies of a node with a TTL below nothing that is ephemeral.
                timed = self.chance.choice((5, 6, 5, 6, 5, 6, mode))
                ttls = (1 << 30, 1 << 30, 0, 1 << 39, 1 << 41) + ((-1,) if timed in (5, 6) else ())
                return CreateTtl(path, data, acl, timed, self.chance.choice(ttls))
            case 7 | 8:
                return Delete(path, self.version())
            case 9 | 10:
                return SetData(path, data, self.version())
            case _:  # a real server never answers one that stands alone and holds
                return Check(path, self.version())

    def multi(self) -> Request:
        """A real server refuses one as unreadable if an operation has the mode of another."""
        ops: list[WriteOp] = []
        for _ in range(self.chance.randrange(6)):
            op = self.write(alone=False)
            match op:
                case CreateContainer():
                    op = op._replace(mode=CreateMode.CONTAINER)
                case CreateTtl():
                    op = op._replace(mode=self.chance.choice((5, 6)))
                case Create() | Create2():
                    op = op._replace(mode=op.mode % 4)
            ops.append(op)
        return Multi(tuple(ops))

    def read(self) -> Request:
        """With a watch or without."""
        path = self.path()
        watch = self.chance.random() < 0.6 and not self.is_lasting(path)
        kind = self.chance.choice((GetData, Exists, Exists, GetChildren, GetChildren2))
        return kind(path, watch)

    def multi_read(self) -> Request:
        """Some of them fail."""
        paths = [self.path() for _ in range(self.chance.randrange(4))]
        return MultiRead(tuple(self.chance.choice((GetData, GetChildren))(each) for each in paths))

    def lasting(self) -> Request:
        """A watch that stays, or the end of one, of whatever kind."""
        path = self.good_path()
        mode = self.mode(path)
        if self.is_lasting(path) and self.chance.random() < 0.6:
            return AddWatch(path, self.chance.choice((mode, mode, mode, mode, -1, 2)))
        # Before 3.9 there was no kind of their own for watches that stay, and a look for watches
        # also found those of other sessions.
        kinds = (3, 3, 3, 0, -1, 6) if self.is_lasting(path) else (1, 2, 3, 3, 0, -1, 6)
        return RemoveWatches(path, self.chance.choice(kinds))

    def watches_again(self, marks: int) -> Request:
        """As of some moment, of nodes that may never have been watched."""
        since = self.chance.randrange(marks)
        lists = [self.paths(lasting=False) for _ in range(3)]
        if self.chance.random() < 0.5:
            return SetWatches(since, *lists)
        both = self.paths(lasting=True)
        apart = [[path for path in both if self.mode(path) == mode] for mode in (0, 1)]
        return SetWatches2(since, *lists, *apart)

    def auth(self) -> Request:
        """Mostly of somebody."""
        return self.chance.choice(
            (
                Auth("digest", b"anna:secret"),
                Auth("digest", b"anna:secret"),
                Auth("digest", b"berta:x"),
                Auth("digest", b"nobody"),
                Auth("ip", b""),
                Auth("nonsense", b"x"),
                Auth("world", b"anyone"),
            )
        )

    def paths(self, *, lasting: bool) -> list[str]:
        """Some."""
        some = [self.good_path() for _ in range(self.chance.randrange(4))]
        return [path for path in dict.fromkeys(some) if self.is_lasting(path) == lasting]

    @staticmethod
    def is_lasting(path: str) -> bool:
        """Before 3.9 a watch of another mode replaces the one before: so paths have one each."""
        return path.endswith("c")

    @staticmethod
    def mode(path: str) -> int:
        """In which watches stay here."""
        return sum(path.encode()) % 2

    def good_path(self) -> str:
        """One that a node may have."""
        depth = self.chance.choice((1, 1, 1, 2, 2, 3))
        return self.root + "".join("/" + self.chance.choice("abc") for _ in range(depth))

    def path(self) -> str:
        """Sometimes none."""
        path = self.good_path()
        if self.chance.random() > 0.06:
            return path
        bad = ("a", path + "/", f"{path}//b", f"{path}/.", f"{path}/..", f"{path}/../b")
        worse = (
            f"{path}\0",
            f"{path}/\x1f",
            f"{path}/\ue000",
            f"{path}/ß大♥",
            path[1:],
        )
        return self.chance.choice(bad + worse)

    def data(self) -> bytes | None:
        """None is not the same as nothing."""
        return self.chance.choice((None, b"", b"x", b"data", bytes(300)))

    def version(self) -> int:
        """The right one every now and then."""
        return self.chance.choice((-1, -1, -1, 0, 0, 1, 2, 7, -2))

    def acl(self) -> tuple[Acl, ...]:
        """Mostly open."""
        if self.chance.random() < 0.85:
            return OPEN_ACL
        who = self.chance.choice(
            (
                Identity("auth", ""),
                Identity("auth", "ignored"),
                Identity("world", "anyone"),
                Identity("world", "someone"),
                Identity("digest", "anna:Wap/fLaD11BLJBT+7fkDcVxaT7c="),
                Identity("digest", "no colon"),
                Identity("digest", "a:b:c"),
                Identity("digest", ":x"),
                Identity("ip", "127.0.0.1"),
                Identity("ip", "127.0.0.0/8"),
                Identity("ip", "10.0.0.0/8"),
                Identity("ip", "300.0.0.1"),
                Identity("ip", "10.0.0.0/33"),
                Identity("nonsense", "x"),
            )
        )
        entry = Acl(self.chance.choice((ALL_PERMISSIONS, Permission.READ, 3, 12, 0)), who)
        return self.chance.choice(((), (entry,), (entry, *OPEN_ACL), (entry, entry)))
