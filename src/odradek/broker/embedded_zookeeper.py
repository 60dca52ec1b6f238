"""The ZooKeeper of a broker that needs nothing beside it, and where it is reached."""

from odradek.broker.doors import Doors
from odradek.broker.network.socket_server import naming
from odradek.config.broker import BrokerConfig
from odradek.config.checks import EVERY_ADDRESS
from odradek.config.rows import zookeeper as zookeeper_rows
from odradek.ensemble.server import Doors as ZooKeeperDoors
from odradek.ensemble.server import ZookeeperServer
from odradek.zookeeper.server.settings import ServerSettings


async def start_zookeeper(config: BrokerConfig, doors: Doors) -> ZookeeperServer:
    """A server in the broker's own process; the caller runs it."""
    server = ZookeeperServer(
        ZooKeeperDoors(doors.clock, doors.random, doors.network, doors.journal()),
        ServerSettings(packet_bytes_max=config[zookeeper_rows.JUTE_MAXBUFFER]),
    )
    host = config[zookeeper_rows.ZOOKEEPER_EMBEDDED_HOST]
    port = config[zookeeper_rows.ZOOKEEPER_EMBEDDED_PORT]
    with naming(zookeeper_rows.ZOOKEEPER_EMBEDDED_PORT, f"{port} at {host}"):
        await server.open((host, port))
    return server


def connect_string(config: BrokerConfig, embedded: ZookeeperServer | None) -> str:
    """What is said; of a server of ours the address is its own, and the chroot stays."""
    said = config[zookeeper_rows.ZOOKEEPER_CONNECT]
    if embedded is None:
        assert said is not None, "either it is said, or the server is ours"
        return said
    host, port = embedded.address
    chroot = "" if said is None or "/" not in said else said[said.index("/") :]
    return f"{'127.0.0.1' if host in EVERY_ADDRESS else host}:{port}{chroot}"
