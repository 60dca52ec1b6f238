"""Appending through the log, beside a bare loop of `pwrite` of the same bytes.

Bars: 70 % of the bare rate with batches of 16 KiB, 90 % with 1 MiB. The log reads the header, gives
offsets, writes, and keeps its indexes; with `checked` it is the broker's whole way, the CRC
included. The cases take turns: the price of fresh pages changes within a minute.
"""

import os
from pathlib import Path

from log_world import ORDERS, Ratios, append_turn, batch_of, folder, log_dir, new_log, seconds

ROUNDS = 9
BYTES = 64 << 20
CASES = ((16 << 10, 1), (16 << 10, 4), (16 << 10, 16), (1 << 20, 1), (1 << 20, 4), (1 << 10, 16))


def bare(path: Path, batches: list[bytearray], times: int) -> float:
    """One `pwrite` a batch."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    started, position = seconds(), 0
    for _ in range(times):
        for batch in batches:
            position += os.pwrite(fd, batch, position)
    took = seconds() - started
    os.close(fd)
    path.unlink()
    return took


def ours(path: Path, batches: list[bytearray], times: int, *, checked: bool) -> float:
    """One turn of the loop for each round of batches."""
    home = log_dir(path)
    log = new_log(home, ORDERS)
    started = seconds()
    for _ in range(times):
        append_turn(log, batches, checked=checked)
    took = seconds() - started
    assert log.size == sum(map(len, batches)) * times
    home.abandon()
    for name in list((path / str(ORDERS)).iterdir()):
        name.unlink()
    return took


def main() -> None:
    """The sizes, each with as many batches a turn as a busy broker has."""
    print(f"{'':<44} {'min':>8} {'median':>8} {'max':>8}        {'min':>5} {'med':>5} {'max':>5}")
    with folder() as path:
        for size, in_turn in CASES:
            total = BYTES if size > 4096 else BYTES // 4
            batches = [batch_of(size) for _ in range(in_turn)]
            times = total // (size * in_turn)
            for checked in (False, True):
                title = f"{size >> 10} KiB, {in_turn} a turn{', checked' if checked else ''}"
                ratios = Ratios(title, total)
                for _ in range(ROUNDS):
                    plain = bare(path / "bare", batches, times)
                    ratios.add(plain, ours(path, batches, times, checked=checked))
                ratios.show()


if __name__ == "__main__":
    main()
