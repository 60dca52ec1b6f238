"""What the whole cluster has agreed upon (KIP-584): in ZooKeeper, watched, changed by any broker.

There is one feature, `transaction.version`. Level 2 tells clients that they may use version 2 of
transactions. A Kafka 3.9 that coordinates through ZooKeeper ends itself at any level but 0; so a
cluster begins with 0, and no level is raised while a Kafka is registered.

The epoch that clients see is the number of the transaction of ZooKeeper that wrote the znode last:
it rises also where the znode is made anew.
"""

from typing import Final

import structlog

from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import VersionRange
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.cluster import Features, FeatureStatus, FeatureZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.zookeeper.client.errors import NoNode, OutcomeUnknown
from odradek.zookeeper.protocol.codes import KeeperError

TRANSACTION_VERSION: Final = "transaction.version"
LEVEL_MAX: Final = 2
NO_EPOCH: Final = -1

log = structlog.get_logger()


class InvalidFeature(BrokerError):
    """There is no such feature, or no such level of it, or not in this direction."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class FeatureUpdateFailed(BrokerError):
    """The tree did not take it, or a broker would not bear it."""

    code = ErrorCode.FEATURE_UPDATE_FAILED


class ClusterFeatures:
    """As this broker has heard of them."""

    def __init__(self, client: ZooKeeperClient, all_paths: str) -> None:
        self._client = client
        self._paths = frozenset({all_paths, FeatureZnode.PATH})
        self.transaction_version = 0
        self.epoch = NO_EPOCH

    def level(self) -> int:
        """Of `transaction.version`."""
        return self.transaction_version

    async def look(self, changed: frozenset[str]) -> None:
        """Reads them if they may have changed."""
        if not self._paths & changed:
            return
        await self._client.exists(FeatureZnode.PATH, watch=True)
        try:
            found = await self._client.get(FeatureZnode.PATH, watch=True)
            features = FeatureZnode.decode(found.data)
        except NoNode:
            self._believe(0, NO_EPOCH)
        except MalformedZnode as fault:
            log.warning("features.unreadable", reason=str(fault))
        else:
            self._believe(_level(features), found.stat.mzxid)

    def _believe(self, level: int, epoch: int) -> None:
        if level != self.transaction_version:
            log.info("features.changed", transaction_version=level)
        self.transaction_version, self.epoch = level, epoch

    async def change(self, level: int, *, may_fall: bool, validate_only: bool) -> None:
        """Sets `transaction.version`; raises why not."""
        if not 0 <= level <= LEVEL_MAX:
            raise InvalidFeature(f"{TRANSACTION_VERSION} has the levels 0 to {LEVEL_MAX}")
        try:
            found = await self._client.get(FeatureZnode.PATH)
            before = FeatureZnode.decode(found.data)
            if level < _level(before) and not may_fall:
                raise InvalidFeature("a lower level is a downgrade, which has to be asked for")
            if level:
                await self._check_that_all_know(level)
            if validate_only or level == _level(before):
                return
            others = tuple(it for it in before.levels if it[0] != TRANSACTION_VERSION)
            ours = ((TRANSACTION_VERSION, VersionRange(level, level)),) if level else ()
            data = FeatureZnode.encode(Features(FeatureStatus.ENABLED, (*others, *ours)))
            await self._write(data, found.stat.version)
        except (KeeperError, MalformedZnode) as error:
            raise FeatureUpdateFailed(f"{FeatureZnode.PATH}: {error}") from error
        await self.look(self._paths)

    async def _write(self, data: bytes, version: int) -> None:
        """An answer that was lost says nothing; the tree says whether it was written."""
        try:
            await self._client.set(FeatureZnode.PATH, data, version)
        except OutcomeUnknown:
            await self._client.sync(FeatureZnode.PATH)
            if (await self._client.get(FeatureZnode.PATH)).data != data:
                raise

    async def _check_that_all_know(self, level: int) -> None:
        """Ours say so in their registration; Kafka's brokers would end themselves."""
        for name in (await self._client.children(BrokerIdsZnode.PATH)).names:
            number = BrokerIdsZnode.decode_name(name)
            found = await self._client.get(BrokerZnode.path(number))
            mark = BrokerZnode.decode(number, found.data).mark
            if mark is None:
                raise FeatureUpdateFailed(
                    f"broker {number} is an Apache Kafka broker, which ends at a finalized feature"
                )
            if mark.transaction_version < level:
                raise FeatureUpdateFailed(
                    f"broker {number} is of a release that knows {TRANSACTION_VERSION} up to "
                    f"{mark.transaction_version}; upgrade it first"
                )


def _level(features: Features) -> int:
    if features.status is not FeatureStatus.ENABLED:
        return 0
    levels = {name: level.high for name, level in features.levels}
    return min(levels.get(TRANSACTION_VERSION, 0), LEVEL_MAX)
