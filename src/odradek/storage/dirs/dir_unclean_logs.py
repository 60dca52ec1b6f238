"""Which logs of a dir may lack records: a file that says so, durable before anything is cut.

What is in it was known before this start, was found by recovery, or may be so because the machine
went down. The broker clears a log once it has all records again.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from odradek.model.ids import TopicPartition
from odradek.model.positions import FIRST_INCARNATION, Incarnation
from odradek.model.units import Timestamp
from odradek.ports import Disk
from odradek.storage.dirs.dir_synced_logs import DirSyncedLogs
from odradek.storage.errors import CorruptFile
from odradek.storage.files.dir_files import delete_if_there, read_small, write_small
from odradek.storage.files.failures import Failures
from odradek.storage.files.move_notes import note_kept
from odradek.storage.files.unclean_logs import (
    BOOT,
    SERVED_WITHOUT,
    UNCLEAN_LOGS,
    Reason,
    Unclean,
    UncleanLogs,
    all_unknown,
    decode_unclean_logs,
)
from odradek.storage.logs.log import PartitionLog


class Learnt(NamedTuple):
    """What is known of one log now."""

    unclean: Unclean | None
    incarnation: Incarnation | None = None  # None: as before


Known = Mapping[TopicPartition, Learnt]


class DirUncleanLogs(DirSyncedLogs):
    """Those of one dir."""

    def __init__(self, disk: Disk, failures: Failures) -> None:
        super().__init__(disk, failures)
        self._unclean = UncleanLogs({})  # what its file says; the disk's thread changes it
        self._served_without: frozenset[str] = frozenset()  # likewise
        self.leaving: dict[TopicPartition, str] = {}  # in which dir a log may be that served later

    def clear_unclean(self, partitions: Collection[TopicPartition]) -> None:
        """They have all records again, or no other replica has them: the broker says so."""
        kept = {p: it for p, it in self._unclean.logs.items() if p not in partitions}
        with self.failures.touching(self.name):
            self._write_unclean(self._unclean._replace(logs=kept))

    def begun_anew(
        self, partitions: Iterable[TopicPartition], now: Timestamp
    ) -> dict[TopicPartition, Incarnation]:
        """What their incarnations are once they have lost something: none was so before."""
        known = self._unclean.incarnations
        return {it: Incarnation(max(now, known.get(it, 0) + 1)) for it in partitions}

    def settle_leaving(
        self,
        leaving: Mapping[TopicPartition, str],
        were_open: Collection[str],
        now: Timestamp,
    ) -> Known:
        """What is known of these logs, which moves may have replaced. `learn` follows.

        If the other dir is here, and has no such log, the move did not end. Where its disk was
        replaced, or it was dropped from the settings, they may lack what came later, also if they
        lacked something before.
        """
        gone = {p for p, it in leaving.items() if it not in were_open}
        known = {p: it for p, it in self._unclean.logs.items() if not (p in gone and it.is_doubt)}
        logs = all_unknown(gone) | known
        anew = self.begun_anew(gone, now)
        incarnations = {**self._unclean.incarnations, **anew}
        with self.failures.touching(self.name):
            self._write_unclean(UncleanLogs(logs, incarnations=incarnations))
            for partition in leaving:
                note_kept(self.disk, str(partition))
        return {it: Learnt(logs[it], anew[it]) for it in gone}

    def doubt(self, offline: frozenset[str], partitions: Collection[TopicPartition]) -> Known:
        """Those of its logs of which these dirs may have a newer one, and what else was known.

        If this dir does not say that it served without them, it may have been the one that was
        away; then none of its logs is known to be whole. `learn` follows.
        """
        if offline <= self._served_without:
            return {}
        doubted = {p: Unclean(Reason.MAYBE_OLDER) for p in partitions} | dict(self._unclean.logs)
        with self.failures.touching(self.name):
            self._write_unclean(self._unclean._replace(logs=doubted))
        return {partition: Learnt(doubted[partition]) for partition in partitions}

    def end_doubts(self, were_open: Collection[str], now: Timestamp) -> Known:
        """No dir is offline any more: what is known of those that were in doubt.

        What served before this start is here: a newer log in it would have taken the place of the
        one in this dir. What was in a dir that was replaced is not known any more. `learn` follows.
        """
        doubted = {p for p, it in self._unclean.logs.items() if it.is_doubt}
        if not doubted:
            return {}
        is_answered = bool(self._served_without) and self._served_without <= {*were_open}
        settled = {p: it for p, it in self._unclean.logs.items() if p not in doubted}
        settled |= {} if is_answered else all_unknown(doubted)
        anew = {} if is_answered else self.begun_anew(doubted, now)
        incarnations = {**self._unclean.incarnations, **anew}
        with self.failures.touching(self.name):
            self._write_unclean(UncleanLogs(settled, incarnations=incarnations))
        return {
            it: Learnt(settled.get(it), incarnations.get(it, FIRST_INCARNATION)) for it in doubted
        }

    def learn(self, known: Known) -> None:
        """What is known of these logs now. On the loop."""
        for partition, log in (*self.logs.items(), *self.contested.items()):
            if partition in known:
                log.unclean, incarnation = known[partition]
                if incarnation is not None:
                    log.incarnation = incarnation

    def note_offline(self, offline: frozenset[str]) -> None:
        """This dir serves, and these do not: durably."""
        if offline == self._served_without:
            return
        with self.failures.touching(self.name):
            if offline:
                write_small(self.disk, SERVED_WITHOUT, "\n".join(sorted(offline)).encode())
            else:
                delete_if_there(self.disk, SERVED_WITHOUT)
                self.disk.sync_directory("")
        self._served_without = offline

    def _read_served_without(self) -> None:
        """Nothing, where it cannot be read: that is always safe."""
        try:
            text = read_small(self.disk, SERVED_WITHOUT).decode("utf-8", "replace")
        except FileNotFoundError:
            return
        self._served_without = frozenset(text.splitlines())

    def note_unclean(self, log: PartitionLog) -> None:
        """What is known of a log that came from another dir."""
        known, incarnations = dict(self._unclean.logs), dict(self._unclean.incarnations)
        known.pop(log.partition, None)
        incarnations.pop(log.partition, None)
        if log.unclean is not None:
            known[log.partition] = log.unclean
        if log.incarnation != FIRST_INCARNATION:
            incarnations[log.partition] = log.incarnation
        with self.failures.touching(self.name):
            self._write_unclean(self._unclean._replace(logs=known, incarnations=incarnations))

    def _read_unclean(self, notes: list[str]) -> UncleanLogs | None:
        """What the file says; None where it cannot be told which logs are whole."""
        path = f"{self.name}/{UNCLEAN_LOGS}"
        try:
            self._unclean = decode_unclean_logs(read_small(self.disk, UNCLEAN_LOGS), path)
        except FileNotFoundError:
            return self._unclean
        except CorruptFile as error:
            notes.append(f"no log here is known to be whole: {error}")
            return None
        return None if self._unclean.recovering else self._unclean

    def _last_boot(self) -> str:
        """Which run of the operating system had the logs open last; empty if that is not known."""
        try:
            return read_small(self.disk, BOOT).decode("ascii", "replace")
        except FileNotFoundError:
            return ""

    def _unflushed(self) -> dict[TopicPartition, Unclean]:
        """Logs whose end may have been in a page cache that is gone."""
        logs = (partition for partition in self.logs if not self.is_named(partition))
        return dict.fromkeys(logs, Unclean(Reason.MACHINE_WENT_DOWN))

    def _note_recovering(self) -> None:
        """Records are about to be cut off: a start that ends here leaves no log known as whole."""
        if not self._unclean.recovering:
            self._write_unclean(self._unclean._replace(recovering=True))

    def _settle_unclean(
        self, before: UncleanLogs | None, known: dict[TopicPartition, Unclean], now: Timestamp
    ) -> None:
        """What may be so, what was known before this start, and what recovery has found.

        A doubt of before is less than what may be so.
        """
        found = {p for p, log in self.logs.items() if log.unclean is not None}
        anew = self.begun_anew(self.logs if before is None else found | known.keys(), now)
        kept = {p: it for p, it in self._unclean.incarnations.items() if p in self.logs}
        incarnations = kept | anew
        logs_before = {} if before is None else before.logs
        doubted = {p for p in known if p in logs_before and logs_before[p].is_doubt}
        known |= (
            all_unknown(self.logs)
            if before is None
            else {p: it for p, it in before.logs.items() if p in self.logs.keys() - doubted}
        )
        known |= {p: log.unclean for p, log in self.logs.items() if log.unclean is not None}
        for partition, unclean in known.items():
            self.logs[partition].unclean = unclean
        for partition, incarnation in incarnations.items():
            self.logs[partition].incarnation = incarnation
        self._write_unclean(UncleanLogs(known, incarnations=incarnations))

    def _write_unclean(self, unclean: UncleanLogs) -> None:
        """Replaces the file, unless it says so already; without anything to say there is none."""
        if unclean == self._unclean:
            return
        if unclean.logs or unclean.recovering or unclean.incarnations:
            write_small(self.disk, UNCLEAN_LOGS, unclean.encode())
        else:
            delete_if_there(self.disk, UNCLEAN_LOGS)
            self.disk.sync_directory("")
        self._unclean = unclean
