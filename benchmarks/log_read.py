"""Reading a log in slices of 1 MiB, beside the bare system calls over the same file.

The bar is 90 % of bare `pread`, and of bare `sendfile` into a socket that somebody empties. What
the log adds is finding the slice: its start, and an end at a whole batch.
"""

import os
import socket
import threading

from log_world import ORDERS, Ratios, append_turn, batch_of, folder, log_dir, new_log, seconds

from odradek.model.positions import Offset
from odradek.storage.logs.log import PartitionLog

ROUNDS = 15
BYTES = 256 << 20
SLICE = 1 << 20


def slices(log: PartitionLog) -> list[tuple[int, int]]:
    """Where the log's slices begin and end, so that the bare loop reads the same."""
    found, at = [], Offset(0)
    while at < log.log_end_offset:
        chunk = log.read(at, log.log_end_offset, SLICE).chunk
        assert chunk is not None
        found.append((chunk.position, chunk.length))
        at = Offset(at + chunk.length // BATCH)
    return found


BATCH = 16 << 10


def through_the_log(log: PartitionLog, out: int | None) -> float:
    """Finds each slice, then reads or sends it."""
    started, at = seconds(), Offset(0)
    while at < log.log_end_offset:
        chunk = log.read(at, log.log_end_offset, SLICE).chunk
        assert chunk is not None
        file, position, length = chunk
        if out is None:
            file.read(length, position)
        else:
            send(out, file.fileno() or 0, position, length)
        at = Offset(at + length // BATCH)
    return seconds() - started


def bare(fd: int, found: list[tuple[int, int]], out: int | None) -> float:
    """The system calls alone."""
    started = seconds()
    for position, length in found:
        if out is None:
            os.pread(fd, length, position)
        else:
            send(out, fd, position, length)
    return seconds() - started


def send(out: int, fd: int, position: int, length: int) -> None:
    """All of it, however many calls that takes."""
    end = position + length
    while position < end:
        position += os.sendfile(out, fd, position, end - position)


def drain(end: socket.socket) -> None:
    """Empties the socket until it is closed."""
    buffer = bytearray(1 << 20)
    while end.recv_into(buffer):
        pass


def main() -> None:
    """Both ways out, in turn with the bare ones."""
    print(f"{'':<44} {'min':>8} {'median':>8} {'max':>8}        {'min':>5} {'med':>5} {'max':>5}")
    with folder() as path:
        log = new_log(log_dir(path), ORDERS)
        for _ in range(BYTES // (BATCH * 16)):
            append_turn(log, [batch_of(BATCH) for _ in range(16)])
        found = slices(log)
        fd = log.active_segment.file.fileno() or 0
        near, far = socket.socketpair()
        threading.Thread(target=drain, args=(far,), daemon=True).start()
        for title, out in (("pread of 1 MiB", None), ("sendfile of 1 MiB", near.fileno())):
            ratios = Ratios(title, BYTES)
            for _ in range(ROUNDS):
                ratios.add(bare(fd, found, out), through_the_log(log, out))
            ratios.show()
        near.close()


if __name__ == "__main__":
    main()
