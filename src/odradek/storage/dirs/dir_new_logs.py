"""How logs come to be in a log dir: many together, durable before any of them has its name.

A log's files are empty, but for the one that names its topic. That is the same for all partitions
of the topic, so of those that are made together the first has it written, and it is one more name
in the directories of the others: they have nothing to sync but names.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import NamedTuple, TypeVar

from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.positions import FIRST_INCARNATION, NO_LEADER_EPOCH, LeaderEpoch
from odradek.model.units import Timestamp
from odradek.ports import Disk
from odradek.storage.dirs.dir_unclean_logs import DirUncleanLogs
from odradek.storage.errors import StorageError
from odradek.storage.files.checkpoints import encode_partition_metadata
from odradek.storage.files.dir_files import OpenFiles, write_new
from odradek.storage.files.failures import Failures
from odradek.storage.files.names import PARTITION_METADATA, Kind, renamed
from odradek.storage.files.new_logs import put_note
from odradek.storage.files.unclean_logs import Reason, Unclean
from odradek.storage.logs.loading import LogOpener
from odradek.storage.logs.log import PartitionLog
from odradek.storage.segments.segment import Folder
from odradek.storage.settings import LogConfig

T = TypeVar("T")


class InDir(NamedTuple):
    """How a log comes to be in this directory."""

    config: LogConfig
    topic_id: TopicId = NO_TOPIC_ID
    is_new: bool = False  # its directory is made first
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH  # the leadership that begins with it, if one does
    came_in: LeaderEpoch = NO_LEADER_EPOCH  # to be noted: another dir is offline as it is made


class NewLog(NamedTuple):
    """One that is to be made."""

    partition: TopicPartition
    name: str  # of its directory
    how: InDir


class DirNewLogs(DirUncleanLogs):
    """Those of one dir. On the disk's thread."""

    def __init__(self, disk: Disk, failures: Failures) -> None:
        super().__init__(disk, failures)
        self.files = OpenFiles(disk)
        self.to_delete: list[str] = []  # directories that were renamed, and are to go

    def create(
        self, partition: TopicPartition, name: str, how: InDir, now: Timestamp
    ) -> PartitionLog:
        """Makes an empty log, durably."""
        (log,) = self.create_all([NewLog(partition, name, how)], now)
        return log

    def create_all(self, wanted: Sequence[NewLog], now: Timestamp) -> list[PartitionLog]:
        """Makes empty logs, durably: all of them or none.

        Until they are whole their names mark them for deletion. What is left of one that could not
        be made would pass for the log at a later start, when the true one is elsewhere.
        """
        names = {new.partition for new in wanted}
        self.forget_checkpoints(names)
        self.forget_synced(names)
        made_anew = {
            new.partition: Unclean(Reason.MADE_ANEW)
            for new in wanted
            if not new.how.is_new and new.name == str(new.partition)
        }
        anew = self.begun_anew(made_anew, now)
        with self.failures.touching(self.name):
            self._write_unclean(
                self._unclean._replace(
                    logs=_without(self._unclean.logs, names) | made_anew,
                    incarnations=_without(self._unclean.incarnations, names) | anew,
                )
            )
        begun: list[str] = []
        logs: list[PartitionLog] = []
        try:
            with self.failures.touching(self.name):
                named: dict[TopicId, list[str]] = {}
                logs = [self._make(new, begun, named, now) for new in wanted]
                written = [path for paths in named.values() for path in paths]
                self.disk.sync_all(written, [log.folder.name for log in logs])
                for log, new in zip(logs, wanted, strict=True):
                    self.disk.rename(log.folder.name, new.name)
                    log.folder.name = new.name
                self.disk.sync_directory("")
        except StorageError:
            for log, name in zip(logs, begun, strict=False):
                if log.folder.name != name:
                    with suppress(OSError):  # the disk may be gone
                        self.disk.rename(log.folder.name, name)
            self.to_delete += begun
            raise
        for log in logs:
            log.incarnation = anew.get(log.partition, FIRST_INCARNATION)
        return logs

    def _make(
        self, new: NewLog, begun: list[str], named: dict[TopicId, list[str]], now: Timestamp
    ) -> PartitionLog:
        """One that waits for its name, and to be durable.

        What is `named` are the files that were written for that, and are to be synced.
        """
        unused = map("{:032x}".format, count())
        names = (renamed(new.partition, it, Kind.DELETE) for it in unused)
        name = next(it for it in names if not self.disk.exists(it))
        begun.append(name)
        self.disk.make_directory(name)
        opener = LogOpener(self.failures, clean=False, now=now)
        log = opener.begin(new.partition, Folder(self.files, name), new.how.config)
        log.topic_id = new.how.topic_id
        if log.topic_id != NO_TOPIC_ID:
            self._name_topic(log, named)
        if new.how.came_in != NO_LEADER_EPOCH:
            put_note(self.disk, name, new.how.came_in)
        if not new.how.is_new and new.name == str(new.partition):
            log.unclean = Unclean(Reason.MADE_ANEW)
        if new.how.leader_epoch != NO_LEADER_EPOCH:
            log.begin_epoch(new.how.leader_epoch)
        log.closed_end = log.log_end_offset
        return log

    def _name_topic(self, log: PartitionLog, named: dict[TopicId, list[str]]) -> None:
        path = log.folder.path(PARTITION_METADATA)
        written = named.setdefault(log.topic_id, [])
        if not written or not self.disk.link(written[-1], path):
            write_new(self.disk, path, encode_partition_metadata(log.topic_id))
            written.append(path)


def _without(
    known: Mapping[TopicPartition, T], gone: Collection[TopicPartition]
) -> dict[TopicPartition, T]:
    return {partition: it for partition, it in known.items() if partition not in gone}
