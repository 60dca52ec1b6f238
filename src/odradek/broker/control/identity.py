"""Who this broker is: its number, which the settings say, or its log dirs, or ZooKeeper draws."""

from functools import partial

import structlog

from odradek.broker.doors import Doors
from odradek.broker.jobs import off_loop
from odradek.config.broker import BrokerConfig
from odradek.config.derived import broker_id
from odradek.config.rows.broker import RESERVED_BROKER_MAX_ID
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.cluster import BrokerSequenceZnode
from odradek.model.ids import NO_BROKER, BrokerId
from odradek.storage.dirs.log_dir import DirLocked, LogDir
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import StorageError
from odradek.storage.files.failures import Failures
from odradek.zookeeper.protocol.codes import ANY_VERSION

log = structlog.get_logger()


async def take_dirs(doors: Doors) -> LogDirs:
    """The log dirs, each locked and asked whose it is; one that cannot be used is offline."""
    failures = Failures()
    dirs = LogDirs([LogDir(it.disk, failures) for it in doors.dirs], failures, doors.random)
    for log_dir, door in zip(dirs.dirs, doors.dirs, strict=True):
        try:
            await off_loop(door.worker, log_dir.take)
        except DirLocked:
            raise
        except StorageError as error:
            log.error("log_dir.cannot_be_used", log_dir=log_dir.name, error=str(error))
    return dirs


async def number_of(config: BrokerConfig, dirs: LogDirs, client: ZooKeeperClient) -> BrokerId:
    """What the settings say; else what a former life drew; else a new one."""
    said = broker_id(config)
    if said != NO_BROKER:
        return said
    for log_dir in dirs.online:
        if log_dir.meta.broker_id is not None:
            return log_dir.meta.broker_id
    stat = await client.set(BrokerSequenceZnode.PATH, b"", ANY_VERSION)
    drawn = BrokerId(config[RESERVED_BROKER_MAX_ID] + stat.version)
    log.info("broker.number_drawn", broker=drawn)
    return drawn


async def sign_dirs(doors: Doors, dirs: LogDirs, me: BrokerId, cluster_id: str) -> None:
    """Refuses those of another broker or cluster, and writes into the others whose they are."""
    await off_loop(doors.dirs[0].worker, partial(dirs.identify, me, cluster_id))
