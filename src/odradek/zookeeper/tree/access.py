"""Who may do what: identities, and ACLs held against them.

Schemes are `world` (anyone), `digest` (a name and the hash of its password), `sasl` (a name that
was proven by a login), `x509` (that of a certificate), `ip` (an address or a network) and, for ACLs
as clients write them, `auth` (who I am). A connection has its address as an identity from the
start, its certificate's name over TLS, and gains others with `addauth` and SASL. `super` passes
everywhere.
"""

import base64
import hashlib
import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

from odradek.zookeeper.protocol.codes import KeeperCode, KeeperError, Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl, Identity

SUPER: Final = Identity("super", "")
NAMES: Final = frozenset({"digest", "sasl", "x509"})
"""Schemes whose identities `auth` stands for."""
PROVEN: Final = frozenset({"sasl", "x509"})
"""Those of them that a client cannot have by making them up."""


def digest_identity(credentials: bytes) -> Identity:
    """`name:password` as ZooKeeper keeps it: the name, and the hash of both."""
    name = credentials.partition(b":")[0].decode(errors="replace")
    digest = hashlib.sha1(credentials).digest()  # noqa: S324 - ZooKeeper's choice
    return Identity("digest", f"{name}:{base64.b64encode(digest).decode()}")


def identities_for(
    scheme: str, credentials: bytes | None, *, ip: str, super_digest: str | None
) -> tuple[Identity, ...]:
    """What a connection gains by `addauth`; nothing for a scheme that is not known."""
    if scheme == "digest":
        identity = digest_identity(credentials or b"")
        return (SUPER, identity) if identity.id == super_digest else (identity,)
    return (Identity("ip", ip),) if scheme == "ip" else ()


def user_of(identity: Identity) -> str:
    """The part of an identity that may be shown: never the hash of a password."""
    return identity.id.partition(":")[0] if identity.scheme == "digest" else identity.id


def check_access(
    acl: Sequence[Acl], permissions: int, identities: Iterable[Identity], path: str
) -> None:
    """Raises NOAUTH unless one of the identities has one of the permissions."""
    if acl is not OPEN_ACL and not allowed(acl, permissions, identities):
        raise KeeperError(KeeperCode.NOAUTH, f"{path}: not allowed")


def allowed(acl: Sequence[Acl], permissions: int, identities: Iterable[Identity]) -> bool:
    """Whether one of the identities has one of the permissions. An empty ACL denies nothing."""
    if not acl or SUPER in identities:
        return True
    return any(
        entry.identity == ANYONE or any(_matches(entry.identity, own) for own in identities)
        for entry in acl
        if entry.permissions & permissions
    )


def settled_acl(acl: Sequence[Acl], identities: Iterable[Identity], path: str) -> tuple[Acl, ...]:
    """An ACL as it is kept: each entry once, `auth` replaced by who is meant.

    Raises INVALIDACL where nothing is left, or an entry names an identity that cannot exist.
    """
    if tuple(acl) == OPEN_ACL:
        return OPEN_ACL
    settled: list[Acl] = []
    for entry in dict.fromkeys(acl):
        if entry.identity.scheme == "auth":
            mine = [Acl(entry.permissions, own) for own in identities if own.scheme in NAMES]
        else:
            mine = [entry] if _valid(entry.identity) else []
        if not mine:
            raise KeeperError(KeeperCode.INVALIDACL, f"{path}: no client can be {entry.identity}")
        settled += mine
    if not settled:
        raise KeeperError(KeeperCode.INVALIDACL, f"{path}: an empty ACL")
    return tuple(settled)


def shown_acl(acl: Sequence[Acl], identities: Iterable[Identity]) -> tuple[Acl, ...]:
    """An ACL as it may be read: without an ADMIN's permission, hashes are left out."""
    if allowed(acl, Permission.ADMIN, identities):
        return tuple(acl)
    return tuple(
        Acl(entry.permissions, Identity("digest", f"{user_of(entry.identity)}:x"))
        if entry.identity.scheme == "digest"
        else entry
        for entry in acl
    )


def _valid(identity: Identity) -> bool:
    if identity.scheme == "digest":
        name, _, digest = identity.id.partition(":")
        return bool(name or digest) and bool(digest) and ":" not in digest
    if identity.scheme == "ip":
        return _network(identity.id) is not None
    return identity == ANYONE or (identity.scheme in PROVEN and bool(identity.id))


def _matches(wanted: Identity, own: Identity) -> bool:
    if wanted.scheme != own.scheme:
        return False
    if wanted.scheme == "ip":
        network, host = _network(wanted.id), _network(own.id)
        return network is not None and host is not None and host.network_address in network
    return wanted == own


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
