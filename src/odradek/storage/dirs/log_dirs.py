"""All log dirs of a broker (JBOD: KIP-112, KIP-113): which log lives where, and what is left.

A partition has one current log on this broker, and at most one future log in another directory,
which is being filled and then takes its place. Logs of two topics that had the same name, one after
the other, are contested: neither is current until the controller says which topic there is.
A directory that fails takes its logs along and nothing else; it stays offline until the broker
starts again, or its disk is replaced. While one is offline, a missing log may be on it: then no
empty one is made in its place, unless the caller knows that it is new.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.units import Timestamp
from odradek.ports import Random
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir, is_put_away
from odradek.storage.dirs.placement import Candidate, choose_dir
from odradek.storage.errors import LogDirNotFound, LogDirOffline, StorageError
from odradek.storage.files.checkpoints import MetaProperties
from odradek.storage.files.failures import Failures
from odradek.storage.files.move_notes import UNNUMBERED
from odradek.storage.files.names import Kind, renamed
from odradek.storage.logs.log import PartitionLog


class WrongIdentity(StorageError):
    """The directories belong to another broker or cluster, or to several: nothing is started."""


class WentOffline(NamedTuple):
    """A directory that failed, and what was in it."""

    log_dir: str
    error: OSError
    current: tuple[TopicPartition, ...]
    future_only: tuple[TopicPartition, ...]  # their current logs live elsewhere, and go on
    moves: tuple[TopicPartition, ...]  # away from here, that cannot go on: to be cancelled


class LogDirs:
    """The directories, in the order of the setting."""

    def __init__(self, dirs: Sequence[LogDir], failures: Failures, random: Random) -> None:
        self.dirs = tuple(dirs)
        self.failures = failures
        self._random = random
        self.preferred: dict[TopicPartition, str] = {}  # where a log is to be made, once it is

    # Which there are

    @property
    def online(self) -> list[LogDir]:
        """The directories that still serve."""
        return [log_dir for log_dir in self.dirs if not log_dir.is_offline]

    @property
    def offline(self) -> frozenset[str]:
        """The names of the others."""
        return frozenset(log_dir.name for log_dir in self.dirs if log_dir.is_offline)

    @property
    def all_failed(self) -> bool:
        """Whether the broker has no disk left, and must stop."""
        return all(log_dir.is_offline for log_dir in self.dirs)

    @property
    def some_failed(self) -> bool:
        """Whether a log that is missing may be on a disk that is offline."""
        return any(log_dir.is_offline for log_dir in self.dirs)

    @property
    def cordoned(self) -> frozenset[str]:
        """Those in which no new log is made unasked."""
        return frozenset(it.name for it in self.online if it.is_cordoned)

    def named(self, name: str) -> LogDir:
        """The directory of this name; LogDirNotFound, or LogDirOffline."""
        for log_dir in self.dirs:
            if log_dir.name == name:
                self.failures.check(name)
                return log_dir
        raise LogDirNotFound(f"{name} is no log dir of this broker")

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        """The current log, if it is in a directory that serves."""
        found = self.dir_of(partition)
        return found.logs[partition] if found is not None else None

    def future(self, partition: TopicPartition) -> PartitionLog | None:
        """The log that is being filled to take its place."""
        found = self.future_dir_of(partition)
        return found.futures[partition] if found is not None else None

    def future_dir_of(self, partition: TopicPartition) -> LogDir | None:
        """The directory of the log that is being filled."""
        for log_dir in self.dirs:
            if partition in log_dir.futures and not log_dir.is_offline:
                return log_dir
        return None

    def dir_of(self, partition: TopicPartition) -> LogDir | None:
        """The directory of the current log."""
        for log_dir in self.dirs:
            if partition in log_dir.logs and not log_dir.is_offline:
                return log_dir
        return None

    def left_in(self, partition: TopicPartition) -> LogDir | None:
        """The dir of the log that a move has left behind; of several, the one that served last."""
        left = {it.name: it for it in self.online if partition in it.left_behind}
        last = [it for it in left.values() if it.leaving[partition] not in left]
        return last[0] if last else None

    def __iter__(self) -> Iterator[PartitionLog]:
        """Every current log that can be served."""
        for log_dir in self.online:
            yield from log_dir.logs.values()

    # Starting

    def identify(self, broker_id: BrokerId, cluster_id: str) -> None:
        """Refuses directories of another broker or cluster, and signs those that are new.

        Called once all that can be were taken.
        """
        for log_dir in self.online:
            meta = log_dir.meta
            for name, found, ours in (
                ("broker", meta.broker_id, broker_id),
                ("cluster", meta.cluster_id, cluster_id),
            ):
                if found is not None and found != ours:
                    raise WrongIdentity(f"{log_dir.name} belongs to {name} {found}, not {ours}")
        for log_dir in self.online:
            signed = MetaProperties(broker_id, cluster_id, log_dir.meta.others)
            try:
                log_dir.sign(signed)
            except LogDirOffline:
                continue  # it is reported, and the others start

    def settle(self) -> None:
        """Called once all were opened: no partition may have two current logs.

        Of two topics: both are contested. Of one topic: one that was made for a new replica while
        the dir of another was offline is the current one, and the other is set aside. Of copies
        that moves have left the one that served last stays, and the others go. So does one that was
        never written: a disk failed as it was made, and it was made elsewhere. In any other case an
        operator must choose. A dir that fails meanwhile takes its logs along, and it begins again
        with the others.
        """
        dirs = len(self.online)
        try:
            self._settle()
        except LogDirOffline:
            assert len(self.online) < dirs, "the dir that failed is offline"
            self.settle()

    def _settle(self) -> None:
        self._settle_futures()
        for partition in sorted({p for log_dir in self.online for p in log_dir.logs}):
            holders = [log_dir for log_dir in self.online if partition in log_dir.logs]
            true = [self._settle_one(partition, its) for its in _by_topic(holders, partition)]
            if len(true) > 1:
                for log_dir in true:
                    log_dir.contested[partition] = log_dir.logs.pop(partition)

    def _settle_one(self, partition: TopicPartition, holders: list[LogDir]) -> LogDir:
        """Which of these has the log of their topic; the others lose theirs."""
        holders = self._newest(partition, holders)
        if len(holders) == 1:
            return holders[0]
        true = _served_last(holders, partition) or _written(holders, partition)
        if len(true) != 1:
            where = ", ".join(log_dir.name for log_dir in holders)
            raise StorageError(f"{partition} has more than one log: in {where}")
        for log_dir in holders:
            if log_dir is not true[0]:
                self.discard(log_dir, log_dir.logs.pop(partition))
        return true[0]

    def _newest(self, partition: TopicPartition, holders: list[LogDir]) -> list[LogDir]:
        """Those whose log came last to this broker.

        What the others have is set aside rather than deleted: it is of an earlier assignment, but
        nothing says here whether the later one has ever had all its records.
        """
        if len(holders) == 1:
            return holders
        came_in = {it.name: it.came_in(it.logs[partition]) for it in holders}
        newest = [it for it in holders if came_in[it.name] == max(came_in.values())]
        for log_dir in holders:
            if log_dir not in newest:
                self.set_aside(log_dir, log_dir.logs.pop(partition))
        return newest

    def replace(self, fresh: LogDir) -> None:
        """An empty dir takes the place of the one of its name, which has failed. On the loop."""
        self.failures.forget(fresh.name)
        fresh.failures = self.failures
        self.dirs = tuple(fresh if it.name == fresh.name else it for it in self.dirs)

    def _settle_futures(self) -> None:
        """Of a log that is nowhere nothing can be moved, and in its own dir it need not be."""
        if self.some_failed:
            return  # it may be there
        for log_dir in self.online:
            for partition, future in list(log_dir.futures.items()):
                if self.dir_of(partition) in {None, log_dir}:
                    del log_dir.futures[partition]
                    self.discard(log_dir, future)

    # Logs come and go

    def get_or_create(self, partition: TopicPartition, how: InDir, now: Timestamp) -> PartitionLog:
        """The log, made where it is missing: in the directory wished for, or the emptiest."""
        log = self.get(partition)
        if log is not None:
            return log
        if not how.is_new and self.some_failed:
            raise LogDirOffline(f"{partition} may be in a log dir that is offline")
        left = self.left_in(partition)
        if left is not None:
            del left.leaving[partition]
            self.set_aside(left, left.left_behind.pop(partition))
        refused: list[str] = []
        while (name := self.choose(partition, refused=refused)) is not None:
            log_dir = self.named(name)
            try:
                log = log_dir.create(partition, str(partition), how, now)
            except StorageError:
                refused.append(name)
                continue
            log_dir.logs[partition] = log
            self.preferred.pop(partition, None)
            return log
        raise StorageError(f"no log dir has room for {partition}")

    def choose(
        self,
        partition: TopicPartition,
        *,
        begun: Mapping[str, int] = MappingProxyType({}),
        refused: Collection[str] = (),
    ) -> str | None:
        """In which dir a log that is missing is to be made; None: no dir takes it.

        `begun` counts the logs that are on their way to a dir, `refused` names those that were
        tried.
        """
        candidates = (
            Candidate(it.name, len(it) + begun.get(it.name, 0), it.is_cordoned)
            for it in self.online
            if it.name not in refused
        )
        return choose_dir(candidates, self.preferred.get(partition))

    def delete(self, partition: TopicPartition) -> None:
        """Takes a partition's logs out of the way; their files go with `LogDir.delete_next`."""
        for log_dir, log in self.forget(partition):
            self.discard(log_dir, log)

    def forget(self, partition: TopicPartition) -> list[tuple[LogDir, PartitionLog]]:
        """Its logs, and where they are; they are not found from now on. On the loop."""
        forgotten = []
        for log_dir in self.online:
            log_dir.leaving.pop(partition, None)
            tables = log_dir.logs, log_dir.contested, log_dir.futures, log_dir.left_behind
            for logs in tables:
                log = logs.pop(partition, None)
                if log is not None:
                    log.failures = Failures()  # that its files go says nothing of the disk
                    forgotten.append((log_dir, log))
        self.preferred.pop(partition, None)
        return forgotten

    def contested(self, partition: TopicPartition) -> dict[TopicId, LogDir]:
        """Where its logs are that are of several topics."""
        return {
            log_dir.contested[partition].topic_id: log_dir
            for log_dir in self.dirs
            if partition in log_dir.contested and not log_dir.is_offline
        }

    def decide(
        self, partition: TopicPartition, topic_id: TopicId
    ) -> list[tuple[LogDir, PartitionLog]]:
        """Of contested logs the one of this topic is the current one; the others are forgotten.

        On the loop.
        """
        true = self.contested(partition).get(topic_id)
        log = true.contested.pop(partition) if true is not None else None
        forgotten = self.forget(partition)
        if true is not None and log is not None:
            true.logs[partition] = log
        return forgotten

    def topic_ids(self) -> Iterator[tuple[TopicPartition, TopicId]]:
        """All logs that are found, with the topics that they belong to."""
        for log_dir in self.online:
            for logs in (log_dir.logs, log_dir.contested):
                for partition, log in logs.items():
                    yield partition, log.topic_id

    def set_aside(self, log_dir: LogDir, log: PartitionLog) -> None:
        """Gives a log that the cluster does not know a stray's name: a person may still want it."""
        if not is_put_away(log):
            log_dir.rename_log(log, renamed(log.partition, self.unique(), Kind.STRAY))

    def discard(self, log_dir: LogDir, log: PartitionLog) -> None:
        """Gives a forgotten log's directory another name, under which it waits for its end.

        Once: the end of a move and a deletion may both want it.
        """
        if is_put_away(log):
            return
        name = renamed(log.partition, self.unique(), Kind.DELETE)
        log_dir.rename_log(log, name)
        log_dir.to_delete.append(name)

    def discard_earlier(self, log_dir: LogDir, log: PartitionLog) -> None:
        """Of a topic that is there no more, if its id is right, which a checksum says.

        Without one it is set aside: the id may be what is wrong.
        """
        (self.discard if log_dir.names_surely(log) else self.set_aside)(log_dir, log)

    def unique(self) -> str:
        """Told apart from every other name of a directory that is leaving or arriving."""
        return self._random.bytes(16).hex()

    # Failures

    def handle_failures(self) -> list[WentOffline]:
        """Takes the directories out of service that have failed since the last call."""
        handled = []
        by_name = {log_dir.name: log_dir for log_dir in self.dirs}
        for name, error in self.failures.take():
            log_dir = by_name[name]
            current = tuple(sorted(log_dir.logs))
            future_only = tuple(sorted(set(log_dir.futures) - set(log_dir.logs)))
            moves = tuple(p for p in current if self.future(p) is not None)
            log_dir.abandon()
            handled.append(WentOffline(name, error, current, future_only, moves))
        return handled


def _served_last(holders: list[LogDir], partition: TopicPartition) -> list[LogDir]:
    """The one of these copies that served last; none where their notes do not tell."""
    moves = {it.name: it.moves_of(it.logs[partition]) for it in holders}
    chains = {it.chain for it in moves.values()}
    if len(chains) > 1 and chains != {None, UNNUMBERED}:
        return []
    last = max(it.number for it in moves.values())
    found = [it for it in holders if moves[it.name].number == last]
    return found if len(found) == 1 else []


def _by_topic(holders: list[LogDir], partition: TopicPartition) -> list[list[LogDir]]:
    """They, by topic; together, if one of the logs does not say of which it is."""
    found: dict[TopicId, list[LogDir]] = {}
    for log_dir in holders:
        found.setdefault(log_dir.logs[partition].topic_id, []).append(log_dir)
    return [holders] if NO_TOPIC_ID in found else list(found.values())


def _written(holders: list[LogDir], partition: TopicPartition) -> list[LogDir]:
    """Those with a log that has ever had a record, or the first; all, if they are of two topics."""
    if len({log_dir.logs[partition].topic_id for log_dir in holders}) > 1:
        return holders
    return [log_dir for log_dir in holders if log_dir.logs[partition].log_end_offset] or holders[:1]
