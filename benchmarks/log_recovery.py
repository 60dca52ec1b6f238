"""The scan after an unclean stop: every batch checked by its CRC, indexes built anew.

The bar is 1 GB/s of checked bytes from the page cache. Beside it the same file read bare, in the
same pieces, which is what no scan can be faster than.
"""

from log_world import (
    NOW,
    ORDERS,
    Ratios,
    append_turn,
    batch_of,
    folder,
    log_dir,
    new_log,
    seconds,
)

from odradek.storage.files.dir_files import OpenFiles
from odradek.storage.files.failures import Failures
from odradek.storage.logs.loading import LogOpener
from odradek.storage.segments.segment import Folder
from odradek.storage.settings import LogConfig

ROUNDS = 7
BYTES = 256 << 20


def main() -> None:
    """Large batches, and small ones."""
    print(f"{'':<44} {'min':>8} {'median':>8} {'max':>8}        {'min':>5} {'med':>5} {'max':>5}")
    for size in (1 << 20, 16 << 10, 1 << 10):
        total = BYTES if size > 1 << 12 else BYTES // 8
        with folder() as path:
            home = log_dir(path)
            log = new_log(home, ORDERS)
            batches = [batch_of(size) for _ in range(max(1, (64 << 10) // size))]
            while log.size < total:
                append_turn(log, batches)
            end = log.log_end_offset
            file = log.active_segment.file
            ratios = Ratios(f"recovery scan, {size >> 10} KiB batches", log.size)
            buffer = memoryview(bytearray(1 << 20))
            for _ in range(ROUNDS):
                started = seconds()
                for position in range(0, log.size, len(buffer)):
                    file.read_into(buffer, position)
                bare = seconds() - started
                opener = LogOpener(Failures(), clean=False, now=NOW)
                where = Folder(OpenFiles(home.disk), str(ORDERS))
                started = seconds()
                loaded = opener.open(ORDERS, where, LogConfig())
                ratios.add(bare, seconds() - started)
                assert loaded.log.log_end_offset == end
                assert not loaded.repair
            ratios.show()
            home.abandon()


if __name__ == "__main__":
    main()
