"""What a batch costs on its way in: the hot path beside a bare CRC-32C, and the deep look.

The bar is 2 µs for header, checksum and place of a 16 KiB batch. What varies from minute to minute
is the machine, so everything is measured in turn, round by round, and compared within the round.
"""

import statistics
from collections.abc import Callable
from time import perf_counter_ns

from crc32c import crc32c

from odradek.records.batch import check_crc, headers, place, read_header
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.record import Record, read_records
from odradek.records.validate import check_produced, check_records

ROUNDS = 200
BATCH_BYTES = 16 * 1024


def one_record(size: int) -> bytearray:
    """A batch of exactly this size."""
    batch = build_batch([Record(0, 1, None, bytes(size))])
    return build_batch([Record(0, 1, None, bytes(2 * size - len(batch)))])


def many_records(codec: Codec) -> tuple[bytearray, int]:
    """A batch of small records, as a busy producer fills it."""
    records = [Record(i, 1_000 + i, b"key-%d" % i, b'{"n": %d}' % i * 9) for i in range(150)]
    return build_batch(records, codec=codec), len(records)


def measure(cases: dict[str, tuple[Callable[[], object], int]]) -> dict[str, list[float]]:
    """Microseconds of each case in each round; a case says how often it runs in a round."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, (act, repeats) in cases.items():
            start = perf_counter_ns()
            for _ in range(repeats):
                act()
            times[name].append((perf_counter_ns() - start) / repeats / 1_000)
    return times


def show(title: str, values: list[float], unit: str) -> None:
    """One line of the table."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"{title:<44} {low:8.2f} {middle:8.2f} {high:8.2f}  {unit}")


def main() -> None:
    """Prints minimum, median and maximum over the rounds."""
    batch = one_record(BATCH_BYTES)
    assert len(batch) == BATCH_BYTES
    view, covered = memoryview(batch), memoryview(batch)[21:]

    def take() -> None:
        header = read_header(view)
        check_crc(view, header)
        place(view, 0, 0, 3)

    cases: dict[str, tuple[Callable[[], object], int]] = {
        "bare crc32c": (lambda: crc32c(covered), 200),
        "read_header": (lambda: read_header(view), 200),
        "place": (lambda: place(view, 0, 0, 3), 200),
        "header, checksum, place": (take, 200),
        "check_produced": (lambda: check_produced(view, version=9), 200),
        "headers of a run of 64": (lambda: list(headers(run)), 3),
    }
    run = bytes(one_record(1024)) * 64
    counts = {}
    small, _ = many_records(Codec.NONE)
    cases["check_produced, 150 small records"] = (lambda: check_produced(small, version=9), 20)
    for codec in Codec:
        data, counts[codec] = many_records(codec)
        header = read_header(data)
        cases[f"check_records, {codec.name.lower()}"] = (
            lambda data=data, header=header: check_records(data, header),  # type: ignore[misc]
            2,
        )
    data, _ = many_records(Codec.NONE)
    header = read_header(data)
    records = list(read_records(data, header))
    cases["build_batch"] = (lambda: build_batch(records), 2)
    times = measure(cases)

    print(f"{ROUNDS} rounds{'':<35} {'min':>8} {'median':>8} {'max':>8}")
    for name in list(cases)[:7]:
        show(name, times[name], "µs")
    pairs = zip(times["header, checksum, place"], times["bare crc32c"], strict=True)
    show("header, checksum, place / bare crc32c", [whole / bare for whole, bare in pairs], "x")
    for name in list(cases)[7:]:
        show(name, [time / len(records) for time in times[name]], "µs a record")


if __name__ == "__main__":
    main()
