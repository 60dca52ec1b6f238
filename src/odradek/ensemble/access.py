"""The way to an ensemble: the network with TLS in between, and what a session is told of names."""

from typing import NamedTuple

from odradek.ensemble.kept_context import KeptContext
from odradek.ensemble.protection import protected
from odradek.peers.secured_network import Outgoing, SecuredNetwork
from odradek.ports import Network, Random
from odradek.security.certificates.tls_contexts import Read, client_context
from odradek.security.zookeeper_access import ZooKeeperAccess
from odradek.zookeeper.client.session import SessionSettings


class Way(NamedTuple):
    """What connections are made by, and how sessions are settled."""

    network: Network
    settings: SessionSettings


def way_to(
    access: ZooKeeperAccess, doors: tuple[Network, Random, Read], settings: SessionSettings
) -> Way:
    """Nothing stands in between where nothing was asked for."""
    network, random, read = doors
    if access.tls is not None:
        network = SecuredNetwork(network, Outgoing(KeptContext(access.tls, read, client_context)))
    return Way(
        network,
        settings._replace(
            login=access.login(random.bytes), acl_of=protected if access.protects else None
        ),
    )
