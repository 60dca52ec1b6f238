"""Of which logs of a dir nothing is lost with the page cache: a file that says so, kept true.

A topic's setting says what is to be from now on, and nothing about what was written before it. So
it counts for a log from the moment on in which all of its bytes are on the device and this file
names it. A log that is named has each append synced before it counts, whatever its topic says by
now, until it is durable that it is named no more. Kafka ignores the file.
"""

from collections.abc import Collection
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.model.names import topic_name_fault
from odradek.ports import Disk
from odradek.storage.dirs.dir_checkpoints import DirCheckpoints
from odradek.storage.errors import CorruptFile, StorageError
from odradek.storage.files.checkpoints import checkpoint_entries, checkpoint_number, encode_lines
from odradek.storage.files.dir_files import delete_if_there, read_small, write_small
from odradek.storage.files.failures import Failures
from odradek.storage.logs.log import PartitionLog

SYNCED_LOGS: Final = "synced-logs"

Names = frozenset[TopicPartition]


def encode_synced_logs(names: Collection[TopicPartition]) -> bytes:
    """`topic partition` lines behind a version and a count."""
    return encode_lines([f"{topic} {partition}" for topic, partition in sorted(names)])


def decode_synced_logs(data: bytes, path: str) -> Names:
    """The inverse of `encode_synced_logs`; CorruptFile for anything else."""
    names: set[TopicPartition] = set()
    for position, fields in checkpoint_entries(data, path, width=2):
        topic = fields[0].decode("utf-8", "replace")
        if topic_name_fault(topic) is not None:
            raise CorruptFile(path, position, f"{topic[:64]!r} is no topic")
        names.add(TopicPartition(topic, checkpoint_number(fields[1], path, position)))
    return frozenset(names)


class DirSyncedLogs(DirCheckpoints):
    """Those of one dir."""

    def __init__(self, disk: Disk, failures: Failures) -> None:
        super().__init__(disk, failures)
        self._synced: Names = frozenset()  # what the file says; replaced whole, by the disk
        self._is_synced_known = True  # False: a write of it has failed

    def misnamed(self) -> list[PartitionLog]:
        """Those of which the file does not say what their topics want. On the loop."""
        said = self._synced
        if not said:  # as in nearly all dirs, each second
            return [it for it in self.logs.values() if it.config.flush_before_ack or it.is_synced]
        return [
            log
            for partition, log in self.logs.items()
            if log.config.flush_before_ack is not (partition in said)
            or log.is_synced is not (partition in said)
        ]

    def naming(self, logs: Collection[PartitionLog]) -> "NamingJob":
        """Names those of these that are to be named, and all of whose bytes are durable.

        On the loop. From now on each of their appends is synced.
        """
        wanted = [log for log in logs if log.config.flush_before_ack and log.is_durable]
        for log in wanted:
            log.is_synced = True
        return NamingJob(self, wanted, [it for it in logs if not it.config.flush_before_ack])

    def is_named(self, partition: TopicPartition) -> bool:
        """Whether the file names a log."""
        return partition in self._synced

    def name_synced(
        self, names: Collection[TopicPartition] = (), others: Collection[TopicPartition] = ()
    ) -> None:
        """These are named, and the others are not. On the disk's thread, as all below."""
        self._write_synced((self._synced - frozenset(others)) | frozenset(names))

    def forget_synced(self, partitions: Collection[TopicPartition]) -> None:
        """Before others get the names of these; what was about to be written is void."""
        self._changes[SYNCED_LOGS] += 1
        self.name_synced(others=partitions)

    def forget_all_synced(self) -> None:
        """All is durable, and who has the dir next may know nothing of the file."""
        self._write_synced(frozenset())

    def _read_synced(self, notes: list[str]) -> None:
        """None, where it cannot be read: that is always safe."""
        path = f"{self.name}/{SYNCED_LOGS}"
        try:
            self._synced = decode_synced_logs(read_small(self.disk, SYNCED_LOGS), path)
        except FileNotFoundError:
            return
        except CorruptFile as error:
            notes.append(f"ignored: {error}")

    def _settle_synced(self) -> None:
        """After all were opened: those that are to be named, and are durable as they are."""
        wanted = {p for p, log in self.logs.items() if log.config.flush_before_ack}
        self._write_synced(frozenset(p for p in wanted if self.logs[p].is_durable))
        for partition in self._synced:
            self.logs[partition].is_synced = True

    def _write_synced(self, names: Names) -> None:
        if names == self._synced and self._is_synced_known:
            return
        self._is_synced_known = False
        with self.failures.touching(self.name):
            if names:
                write_small(self.disk, SYNCED_LOGS, encode_synced_logs(names))
            else:
                delete_if_there(self.disk, SYNCED_LOGS)
                self.disk.sync_directory("")
        self._synced, self._is_synced_known = names, True


class NamingJob:
    """The file is to name these logs, and not the others."""

    def __init__(
        self, log_dir: DirSyncedLogs, named: list[PartitionLog], others: list[PartitionLog]
    ) -> None:
        self._dir = log_dir
        self._named = named
        self._others = others
        self._changes = log_dir._changes[SYNCED_LOGS]  # noqa: SLF001 - a part of it

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._named or self._others)

    def run(self) -> None:
        """On the disk's thread; not if another log may have the name of one of these by now."""
        if self._dir._changes[SYNCED_LOGS] != self._changes:  # noqa: SLF001 - likewise
            raise StorageError("another log got a name meanwhile")
        self._dir.name_synced(
            [log.partition for log in self._named], [log.partition for log in self._others]
        )

    def publish(self) -> None:
        """Those that are named no more need no sync any more. On the loop."""
        for log in self._others:
            log.is_synced = False
