"""What an operator may do with a log dir of this broker, while it runs.

*Offline*: the dir counts as failed, for a disk that is about to be pulled. *Replace*: another,
empty disk is in the place of one that failed; what lay on the old one is made anew and filled by
its leaders. *Cordon*: no new log comes there; *uncordon* ends that.

An operation on a dir whose disk still holds a call is refused: it is not known what that call will
do; so is a second operation on a dir while the first is under way.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from errno import ESHUTDOWN
from functools import partial

import structlog

from odradek.broker.jobs import off_loop
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Timestamp
from odradek.ports import Clock
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.log_dirs import WentOffline
from odradek.storage.errors import LogDirNotFound, LogDirRefused, StorageError
from odradek.storage.files.checkpoints import MetaProperties
from odradek.storage.files.failures import Failures

log = structlog.get_logger()


class DirAdmin:
    """The log dirs of a broker, as an operator sees them."""

    def __init__(
        self, replicas: ReplicaManager, clock: Clock, identity: tuple[BrokerId, str]
    ) -> None:
        self._identity = identity  # our number, and the cluster's id
        self._replicas = replicas
        self._clock = clock
        self.offline_since: dict[str, Timestamp] = {}
        self._were_in: dict[str, Collection[TopicPartition]] = {}  # dirs that failed while we ran
        self._busy: set[str] = set()

    def on_dir_failed(self, gone: WentOffline) -> None:
        """From when it is offline, and what was in it."""
        self.offline_since[gone.log_dir] = self._clock.wall()
        self._were_in[gone.log_dir] = gone.current

    def set_offline(self, name: str) -> int:
        """The dir counts as failed from now on; how many replicas were in it."""
        log_dir = self._dir(name)
        if log_dir.is_offline:
            raise LogDirRefused(f"{name} is offline already")
        if len(self._replicas.dirs.online) == 1:
            raise LogDirRefused(f"{name} is the last log dir: stop the broker instead")
        count = len(log_dir.logs)
        failures = self._replicas.dirs.failures
        failures.report(name, OSError(ESHUTDOWN, "an operator took it offline"))
        self._replicas.look_at_failures()
        return count

    async def set_cordoned(self, name: str, *, is_cordoned: bool) -> None:
        """Whether new logs come to this dir; durably."""
        log_dir = self._dir(name)
        if log_dir.is_offline:
            raise LogDirRefused(f"{name} is offline")
        with self._alone(name):
            await self._do(name, partial(log_dir.set_cordoned, is_cordoned=is_cordoned))
        log.info("log_dir.cordoned" if is_cordoned else "log_dir.uncordoned", log_dir=name)

    async def replace(self, name: str) -> int:
        """Takes an empty disk in the place of the one that failed; how many replicas it refills."""
        old = self._dir(name)
        if not old.is_offline:
            raise LogDirRefused(f"{name} is online: only a log dir that is offline is replaced")
        with self._alone(name):
            if not self._replicas.logs.revive(name):
                raise LogDirRefused(f"an operation in {name} still hangs: the old disk is not gone")
            fresh = LogDir(old.disk, Failures())
            await self._do(name, partial(self._prepare, fresh))
            lost = self._replicas.replace_dir(fresh, self._were_in.pop(name, ()))
        self.offline_since.pop(name, None)
        log.info("log_dir.replaced", log_dir=name, replicas=lost)
        return lost

    def _prepare(self, fresh: LogDir) -> None:
        """On the worker: locked, found empty, and signed; else it is left as it is."""
        if not fresh.disk.exists(""):
            raise LogDirRefused(f"{fresh.name} does not exist: mount the new disk first")
        try:
            fresh.take()
            self._check_empty(fresh)
            fresh.begin(MetaProperties(*self._identity))
        except (LogDirRefused, StorageError):
            fresh.let_go()
            raise

    def _check_empty(self, fresh: LogDir) -> None:
        found = fresh.log_names()
        if found:
            raise LogDirRefused(
                f"{fresh.name} is not empty: it has {found[0]} and {len(found) - 1} more logs. "
                "Restart the broker to use them, or empty the directory"
            )
        meta = fresh.meta
        if (meta.broker_id, meta.cluster_id) not in {(None, None), self._identity}:
            raise LogDirRefused(
                f"{fresh.name} belongs to broker {meta.broker_id} of cluster {meta.cluster_id}"
            )

    async def _do(self, name: str, call: Callable[[], None]) -> None:
        try:
            await off_loop(self._replicas.logs.workers[name], call)
        except (OSError, StorageError) as error:
            raise LogDirRefused(f"{name} cannot be used: {error}") from error

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        if name in self._busy or name in self._replicas.logs.stuck:
            raise LogDirRefused(f"another operation on {name} is under way")
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)

    def _dir(self, name: str) -> LogDir:
        for log_dir in self._replicas.dirs.dirs:
            if log_dir.name == name:
                return log_dir
        known = ", ".join(it.name for it in self._replicas.dirs.dirs)
        raise LogDirNotFound(f"{name} is no log dir of this broker; it has {known}")
