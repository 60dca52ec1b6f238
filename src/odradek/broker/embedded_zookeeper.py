"""The ZooKeeper of a broker that needs nothing beside it, and where it is reached."""

from odradek.broker.doors import Doors
from odradek.broker.network.socket_server import naming
from odradek.config.broker import BrokerConfig
from odradek.config.checks import EVERY_ADDRESS, is_loopback
from odradek.config.rows import zookeeper as zookeeper_rows
from odradek.config.rows import zookeeper_security
from odradek.config.secured import embedded_tls_texts
from odradek.ensemble.served_names import SECTION, served_names
from odradek.ensemble.server import Doors as ZooKeeperDoors
from odradek.ensemble.server import ZookeeperServer
from odradek.model.errors import InvalidSetting
from odradek.zookeeper.server.settings import ServerSettings


async def start_zookeeper(config: BrokerConfig, doors: Doors) -> ZookeeperServer:
    """A server in the broker's own process; the caller runs it."""
    jaas_file = config[zookeeper_security.JAVA_SECURITY_AUTH_LOGIN_CONFIG]
    names = served_names(embedded_tls_texts(config), jaas_file, doors.read_file)
    server = ZookeeperServer(
        ZooKeeperDoors(doors.clock, doors.random, doors.network, doors.journal()),
        ServerSettings(
            packet_bytes_max=config[zookeeper_rows.JUTE_MAXBUFFER],
            users=names.users,
            requires_names=names.are_required,
        ),
    )
    host = config[zookeeper_rows.ZOOKEEPER_EMBEDDED_HOST]
    is_open = names.are_required or config[zookeeper_rows.ZOOKEEPER_EMBEDDED_OPEN]
    if not is_open and not is_loopback(host):
        raise InvalidSetting(f"{jaas_file}: there is no section {SECTION} with users of ZooKeeper")
    port = config[zookeeper_rows.ZOOKEEPER_EMBEDDED_PORT]
    with naming(zookeeper_rows.ZOOKEEPER_EMBEDDED_PORT, f"{port} at {host}"):
        await server.open((host, port), names.context)
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
