"""Stats of znodes, of which a test names only what it is about."""

from odradek.zookeeper.protocol.jute import Stat


def stat(version: int, *, owner: int = 0, cversion: int = 0, children: int = 0) -> Stat:
    """A znode's stat."""
    return Stat(1, 1, 0, 0, version, cversion, 0, owner, 0, children, 1)
