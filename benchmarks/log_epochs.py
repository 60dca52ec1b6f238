"""Beginning the leaderships of 10,000 existing logs on two disks of which a sync takes 1 ms.

Bars: 1 s in all and 20 syncs, the checkpoints of all high watermarks and recovery points included.
"""

import statistics
from pathlib import Path
from time import perf_counter, sleep

from log_world import append_turn, batch_of, folder, log_dir, new_log

from odradek.memory import begin_start
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.runtime.doors.disk import SystemDisk
from odradek.storage.dirs.log_dir import LogDir

LOGS = 10_000
ROUNDS = 5
SYNC_SECONDS = 0.001


class SlowDisk(SystemDisk):
    """Each sync takes its time, and is counted."""

    syncs = 0

    @classmethod
    def wait(cls) -> None:
        """As a good disk does."""
        cls.syncs += 1
        sleep(SYNC_SECONDS)

    def sync_directory(self, path: str) -> None:
        """The names in it."""
        self.wait()
        self.wait()  # that of the file which got its name by this
        super().sync_directory(path)


def fill(path: Path) -> LogDir:
    """Half of the logs, with a record each."""
    home = log_dir(path)
    home.disk.sync_directory = lambda _: None  # type: ignore[method-assign]  # not measured
    batch = batch_of(400)
    for number in range(LOGS // 2):
        append_turn(new_log(home, TopicPartition(f"topic-{number % 100}", number // 100)), [batch])
    home.disk = SlowDisk(str(path))
    return home


def main() -> None:
    """Each round is a newer leadership of all logs."""
    with folder() as one, folder() as other:
        homes = [fill(path) for path in (one, other)]
        begin_start()
        times, counts = [], []
        for number in range(1, ROUNDS + 1):
            SlowDisk.syncs, started = 0, perf_counter()
            for home in homes:
                for log in home.logs.values():
                    log.begin_epoch(LeaderEpoch(number))
                    log.on_high_watermark(log.log_end_offset)
                home.checkpoint().run()
            times.append(perf_counter() - started)
            counts.append(SlowDisk.syncs)
        assert all(log.epochs.latest == ROUNDS for home in homes for log in home.logs.values())
        print(
            f"{LOGS} leaderships: {min(times):.3f} {statistics.median(times):.3f} "
            f"{max(times):.3f} s (min, median, max), at most {max(counts)} syncs"
        )
        for home in homes:
            home.abandon()


if __name__ == "__main__":
    main()
