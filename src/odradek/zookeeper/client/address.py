"""Where an ensemble is: the connect string, the order of its servers, and the chroot.

`host:port,host:port/chroot`. All of a client's paths are below the chroot; it is put in front of
them on the way out and taken off on the way in, so that an owner never sees it.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from odradek.model.errors import InvalidSetting
from odradek.ports import Address, Random
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, put_acls
from odradek.zookeeper.protocol.jute_replies import (
    Children,
    Created,
    Created2,
    Reply,
    Results,
)
from odradek.zookeeper.protocol.jute_requests import (
    Create,
    Create2,
    CreateContainer,
    CreateTtl,
    GetEphemerals,
    Multi,
    MultiRead,
    Request,
)
from odradek.zookeeper.protocol.paths import path_fault

DEFAULT_PORT: Final = 2181

AclOf = Callable[[str], tuple[Acl, ...]]
"""Who may do what with a node that is made under this path."""


class Ensemble(NamedTuple):
    """The servers of one ensemble, and the part of its tree that is ours."""

    servers: tuple[Address, ...]
    chroot: str  # begins with '/', or is empty

    @classmethod
    def parse(cls, text: str) -> "Ensemble":
        """From a connect string; an `InvalidSetting` says what is wrong with it."""
        hosts, slash, rest = text.partition("/")
        chroot = slash + rest if rest else ""
        fault = path_fault(chroot) if chroot else None
        if fault is not None:
            raise InvalidSetting(f"zookeeper.connect={text!r}: {fault}")
        servers = tuple(_server(host.strip(), text) for host in hosts.split(",") if host.strip())
        if not servers:
            raise InvalidSetting(f"zookeeper.connect={text!r} names no server")
        return cls(servers, chroot)


def _server(host: str, text: str) -> Address:
    """One `host`, `host:port`, `[v6]` or `[v6]:port`."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        if not bracket or port[:1] not in {"", ":"}:
            raise InvalidSetting(f"zookeeper.connect={text!r}: {host!r} lacks its bracket")
        port = port[1:]
    else:
        name, _, port = host.partition(":")
    if not port:
        return name, DEFAULT_PORT
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16) or not name:
        raise InvalidSetting(f"zookeeper.connect={text!r}: {host!r} is not host:port")
    return name, int(port)


def shuffled(servers: Sequence[Address], random: Random) -> tuple[Address, ...]:
    """The servers in an order of their own for each client, so that all share the load."""
    order = list(servers)
    for last in range(len(order) - 1, 0, -1):
        other = random.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


class Chroot:
    """Puts a prefix in front of the paths of requests, and takes it off those of replies."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def bytes_more(self, operation: Request) -> int:
        """By how much it grows on its way down."""
        del operation
        return len(self.prefix.encode())

    def path_down(self, path: str) -> str:
        """As the server has it."""
        return path if not self.prefix else self.prefix if path == "/" else self.prefix + path

    def path_up(self, path: str) -> str:
        """As the owner has it. What is not below the prefix stays what it is."""
        prefix = self.prefix
        if not prefix or not path.startswith(prefix):
            return path
        rest = path[len(prefix) :]
        return "/" if not rest else rest if rest[0] == "/" else path

    def down(self, request: Request) -> Request:
        """The request with its paths as the server has them."""
        if not self.prefix:
            return request
        if isinstance(request, (Multi, MultiRead)):
            return type(request)(tuple(map(self.down, request.ops)))  # type: ignore[arg-type] # the kinds stay
        if isinstance(request, GetEphemerals):
            return GetEphemerals(self.path_down(request.prefix or "/"))
        path: str | None = getattr(request, "path", None)
        if path is None:
            return request
        return request._replace(path=self.path_down(path))  # type: ignore[attr-defined,no-any-return] # every request is a NamedTuple

    def up(self, request: Request, reply: Reply) -> Reply:
        """The reply with its paths as the owner has them."""
        if not self.prefix:
            return reply
        if isinstance(reply, (Created, Created2)):
            return reply._replace(path=self.path_up(reply.path))
        if isinstance(reply, Results):
            return Results([self.up(request, result) for result in reply.results])  # type: ignore[misc] # the kinds stay
        if isinstance(reply, Children) and isinstance(request, GetEphemerals):
            return Children([self.path_up(name) for name in reply.names])
        return reply


class ProtectedChroot(Chroot):
    """Gives each node that is made its ACL, too, by its path as the owner has it."""

    def __init__(self, prefix: str, acl_of: AclOf) -> None:
        super().__init__(prefix)
        self._acl_of = acl_of

    def bytes_more(self, operation: Request) -> int:
        """With the ACL."""
        more = super().bytes_more(operation)
        if not isinstance(operation, _CREATES):
            return more
        return more + len(put_acls(self._acl_of(operation.path))) - len(put_acls(operation.acl))

    def down(self, request: Request) -> Request:
        """A node whose owner asked for an ACL of its own keeps that."""
        if isinstance(request, Multi):
            return Multi(tuple(map(self.down, request.ops)))  # type: ignore[arg-type] # the kinds stay
        if isinstance(request, _CREATES) and request.acl == OPEN_ACL:
            request = request._replace(acl=self._acl_of(request.path))
        return super().down(request)


_CREATES: Final = (Create, Create2, CreateContainer, CreateTtl)
