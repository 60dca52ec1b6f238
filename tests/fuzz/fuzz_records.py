"""Coverage-guided attack on everything in `records` that reads bytes from elsewhere.

    python tests/fuzz/fuzz_records.py -max_total_time=20 [a folder of inputs]

Whatever it is fed, a reader returns or raises a BrokerError: no exception of the standard library
or of a compression library, no endless loop, no memory beyond the limit. An input that breaks this
is kept in `regressions/`, and replayed for ever by a unit test.
"""

import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from inspect import isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

from odradek.model.errors import BrokerError
from odradek.records import batch, build, compression, control, legacy, record, validate, varint
from odradek.records.batch import check_crc, headers, read_header, seal
from odradek.records.build import build_batch, rebuild_batch
from odradek.records.compression import Codec, compress, decompress
from odradek.records.control import read_end_marker
from odradek.records.legacy import convert_up, read_message_set
from odradek.records.record import Record, read_records
from odradek.records.validate import check_produced, check_records

LIMIT = 1 << 20
MODULES = (batch, build, compression, control, legacy, record, validate, varint)


def attack_batch(data: bytes) -> None:
    """A batch as it came, then the same one under a checksum that holds."""
    deque(headers(data, cut_tail=True), maxlen=0)
    check_produced(data, version=9, bytes_max=LIMIT)


def attack_records(data: bytes) -> None:
    """The records of a batch whose checksum holds, whatever is in it."""
    sealed = bytearray(data)
    header = read_header(sealed)
    header.size = len(sealed)
    seal(sealed, header)
    check_crc(sealed, header)
    records = list(read_records(sealed, header, limit=LIMIT))
    rebuilt = rebuild_batch(records, header)
    again = read_header(rebuilt)
    assert list(read_records(rebuilt, again)) == records
    if header.is_control:
        for marker in records:
            read_end_marker(marker)
    check_records(sealed, check_produced(sealed, version=9, bytes_max=LIMIT), bytes_max=LIMIT)


def attack_message_set(data: bytes) -> None:
    """A message set; the checksum of its first message is made to hold."""
    message = bytearray(data)
    if len(message) > 16:
        message[12:16] = crc32(message[16:]).to_bytes(4, "big")
        message[8:12] = (len(message) - 12).to_bytes(4, "big")
    for _ in read_message_set(message, limit=LIMIT):
        pass
    converted = convert_up(message, limit=LIMIT)
    deque(read_records(converted, read_header(converted)), maxlen=0)


def attack_codec(data: bytes) -> None:
    """Compressed data; the first byte says by what."""
    assert len(decompress(data[0] & 7, data[1:], LIMIT)) <= LIMIT


ATTACKS: tuple[Callable[[bytes], None], ...] = (
    attack_batch,
    attack_records,
    attack_message_set,
    attack_codec,
)


def attack(data: bytes) -> None:
    """The first byte says what the others pretend to be."""
    if len(data) < 2:
        return
    with suppress(BrokerError):
        ATTACKS[data[0] % len(ATTACKS)](data[1:])


def seeds() -> list[bytes]:
    """Inputs that are what they pretend to be, for the fuzzer to spoil."""
    records = [Record(i, 1_000 + i, b"key", b"value", ((b"h", None),)) for i in range(3)]
    batches = [bytes(build_batch(records, codec=codec)) for codec in Codec]
    found = [bytes([kind]) + whole for kind in (0, 1) for whole in batches]
    text = b"some text, and some text again" * 3
    found += [bytes([3, codec]) + compress(codec, text) for codec in Codec]
    for magic in (0, 1):
        message = bytes([magic, 0]) + bytes(8 * magic) + b"\xff\xff\xff\xff\x00\x00\x00\x01v"
        plain = bytes(11) + bytes([len(message) + 4]) + crc32(message).to_bytes(4, "big") + message
        found.append(b"\x02" + plain)
    return found


def main() -> None:
    """Runs until libFuzzer's options end it; it begins with our seeds, and the folders named."""
    import atheris

    for module in MODULES:
        for function in vars(module).values():
            if isfunction(function) and function.__module__ == module.__name__:
                atheris.instrument_func(function)
    with TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds()):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], corpus, *sys.argv[1:]], attack)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
