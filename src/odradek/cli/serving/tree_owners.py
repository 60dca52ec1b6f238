"""`odradek zookeeper secure` and `open`: whom the znodes of a cluster belong to that are there.

Brokers with `zookeeper.set.acl=true` give an owner to what they make from then on. What was there
before gets it here, from the top down, while the cluster runs; znodes that go meanwhile are left.
"""

import asyncio
from pathlib import Path
from typing import Final

import click

from odradek.cli.reaching.tree import TreeVerb, access_by, connection, in_tree
from odradek.cli.showing.printing import show
from odradek.cli.words.failing import Failed
from odradek.ensemble.client import ZooKeeperClient
from odradek.ensemble.protection import SECURE_ROOTS, AclOf, protected, unprotected
from odradek.model.counting import counted
from odradek.security.zookeeper_access import ZooKeeperAccess
from odradek.zookeeper.client.errors import NoNode
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Children2
from odradek.zookeeper.protocol.jute_requests import GetChildren2, Request, SetAcl

NO_NAME: Final = (
    "znodes cannot have an owner without a name in ZooKeeper",
    "KAFKA_OPTS=-Djava.security.auth.login.config=FILE, or --zk-tls-config-file with a key store",
)


@click.command("secure", cls=TreeVerb)
@connection
def secure(*, connect: str, tls_file: Path | None) -> None:
    """Give all znodes of a cluster to the name that this command has.

    It is the name of the brokers: others can read then, but change nothing, and below
    /config/users and /config/brokers not even read. Brokers need zookeeper.set.acl=true first.
    The name comes as a broker's: from the JAAS file in KAFKA_OPTS, or a certificate.
    """
    count = give(connect, access_by(tls_file), protected)
    show({"znodes": count}, f"{counted(count, 'znode')} secured")


@click.command("open", cls=TreeVerb)
@connection
def open_up(*, connect: str, tls_file: Path | None) -> None:
    """Let everybody change all znodes of a cluster again.

    Brokers need zookeeper.set.acl=false first.
    """
    count = give(connect, access_by(tls_file), unprotected)
    show({"znodes": count}, f"{counted(count, 'znode')} open to everybody")


def give(connect: str, access: ZooKeeperAccess, acl_of: AclOf) -> int:
    """Of the root, and of all that is Kafka's."""
    if not access.is_named:
        raise Failed(*NO_NAME)
    return asyncio.run(in_tree(connect, lambda client: give_all(client, acl_of), access))


async def give_all(client: ZooKeeperClient, acl_of: AclOf) -> int:
    """How many were given."""
    count = await _give(client, ["/"], acl_of)
    level = list(SECURE_ROOTS)
    while level:
        count += await _give(client, level, acl_of)
        answers = await client.batch([GetChildren2(path) for path in level])
        below: list[str] = []
        for path, answer in zip(level, answers, strict=True):
            if isinstance(answer, Children2):
                below += [f"{path}/{name}" for name in sorted(answer.names)]
            elif not isinstance(answer, NoNode):
                assert isinstance(answer, KeeperError), answer
                raise answer
        level = below
    return count


async def _give(client: ZooKeeperClient, paths: list[str], acl_of: AclOf) -> int:
    requests: list[Request] = [SetAcl(path, acl_of(path)) for path in paths]
    answers = await client.batch(requests)
    refused = [it for it in answers if isinstance(it, KeeperError) and not isinstance(it, NoNode)]
    if refused:
        raise refused[0]
    return sum(not isinstance(answer, NoNode) for answer in answers)
