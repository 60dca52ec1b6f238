"""Codecs: every form that a client writes is read, and none gives more than it may."""

import gzip
import struct
import tracemalloc
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import zstandard

from odradek.model.errors import BatchTooLarge, CorruptBatch, UnsupportedCompression
from odradek.records.compression import (
    DECOMPRESSED_BYTES_MAX,
    Codec,
    compress,
    decompress,
    with_true_lz4_checksum,
)

TEXT = b"".join(b'{"id": %d, "name": "user %d"}' % (i, i % 7) for i in range(4_000))
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
MIB = 1 << 20


def xerial(*blocks: bytes) -> bytes:
    """As Java frames snappy: a header, then blocks behind their lengths."""
    return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def snap(data: bytes) -> bytes:
    """One raw block, as librdkafka sends it."""
    return bytes(cramjam.snappy.compress_raw(data))


def zstd_without_size(data: bytes) -> bytes:
    """As Java and librdkafka stream zstd: nobody knows beforehand how much it will be."""
    compressor = zstandard.ZstdCompressor().compressobj()
    return bytes(compressor.compress(data) + compressor.flush())


FORMS: dict[str, tuple[Codec, bytes]] = {
    "gzip": (Codec.GZIP, gzip.compress(TEXT)),
    "gzip with a file name": (Codec.GZIP, b"\x1f\x8b\x08\x08" + bytes(6) + b"name\x00"
                              + gzip.compress(TEXT)[10:]),
    "gzip of two members": (Codec.GZIP, gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:])),
    "gzip and what is no member": (Codec.GZIP, gzip.compress(TEXT) + b"garbage"),
    "snappy, one raw block": (Codec.SNAPPY, snap(TEXT)),
    "snappy, xerial": (Codec.SNAPPY, xerial(snap(TEXT[:32_768]), snap(TEXT[32_768:]))),
    "lz4, independent blocks": (Codec.LZ4, lz4.frame.compress(TEXT, block_linked=False)),
    "lz4, linked blocks": (Codec.LZ4, lz4.frame.compress(TEXT, block_linked=True)),
    "lz4, blocks of 4 MiB": (Codec.LZ4, lz4.frame.compress(
        TEXT, block_size=lz4.frame.BLOCKSIZE_MAX4MB)),
    "lz4, checksums": (Codec.LZ4, lz4.frame.compress(
        TEXT, content_checksum=True, block_checksum=True, store_size=False)),
    "lz4 and what follows": (Codec.LZ4, lz4.frame.compress(TEXT) + b"garbage"),
    "zstd with its size": (Codec.ZSTD, zstandard.ZstdCompressor().compress(TEXT)),
    "zstd without its size": (Codec.ZSTD, zstd_without_size(TEXT)),
    "zstd with a checksum": (Codec.ZSTD, zstandard.ZstdCompressor(
        write_checksum=True, write_content_size=False).compress(TEXT)),
    "zstd, two frames": (Codec.ZSTD, zstd_without_size(TEXT[:99]) + zstd_without_size(TEXT[99:])),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_that_clients_write_is_read(form: str) -> None:
    """One codec number stands for several framings, and all of them are about."""
    codec, data = FORMS[form]
    assert decompress(codec, data) == TEXT
    assert decompress(codec, memoryview(data), len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(300_000)], ids=len)
def test_what_we_compress_comes_back(codec: Codec, data: bytes) -> None:
    """Nothing, little, text, and what compresses a thousandfold."""
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_level_is_the_topics_to_choose(codec: Codec) -> None:
    """More work for fewer bytes, and nothing else changes."""
    fast, small = compress(codec, TEXT, 1), compress(codec, TEXT, 9)
    assert len(small) < len(fast)
    assert decompress(codec, small) == decompress(codec, fast) == TEXT


def test_lz4_blocks_are_independent_as_java_needs_them() -> None:
    """Kafka's own reader refuses frames whose blocks refer to each other."""
    assert compress(Codec.LZ4, TEXT)[4] & 0x20


def test_a_codec_that_does_not_exist_is_refused() -> None:
    """Three bits could name eight; five exist."""
    for codec in (5, 6, 7):
        with pytest.raises(UnsupportedCompression, match=str(codec)):
            decompress(codec, b"data")


WRECKS: dict[str, tuple[Codec, bytes]] = {
    **{f"{codec.name}, nothing": (codec, b"") for codec in CODECS},
    **{f"{codec.name}, garbage": (codec, b"garbage that goes on") for codec in CODECS},
    **{f"{codec.name}, zeros": (codec, bytes(100)) for codec in CODECS},
    "gzip, checksum": (Codec.GZIP, gzip.compress(TEXT)[:-8] + bytes(8)),
    "gzip, second member cut": (Codec.GZIP, gzip.compress(TEXT) + gzip.compress(TEXT)[:-1]),
    "gzip, many members": (Codec.GZIP, gzip.compress(b"") * 100),
    "gzip, bare zlib stream": (Codec.GZIP, zlib.compress(TEXT)),
    "snappy, length of 2^32 - 1": (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20)),
    "snappy, length of 2^31": (Codec.SNAPPY, b"\x80\x80\x80\x80\x08" + bytes(20)),
    "snappy, length that never ends": (Codec.SNAPPY, b"\xff" * 20),
    "snappy, 1 MiB from 5 bytes": (Codec.SNAPPY, b"\x80\x80\x40" + bytes(2)),
    "snappy, data behind the block": (Codec.SNAPPY, snap(TEXT) + b"x"),
    "xerial, header cut off": (Codec.SNAPPY, XERIAL[:12]),
    "xerial, length cut off": (Codec.SNAPPY, XERIAL + b"\x00\x00"),
    "xerial, negative length": (Codec.SNAPPY, XERIAL + struct.pack(">i", -1) + snap(TEXT)),
    "xerial, huge length": (Codec.SNAPPY, XERIAL + struct.pack(">i", (1 << 31) - 1) + snap(TEXT)),
    "xerial, length zero": (Codec.SNAPPY, XERIAL + struct.pack(">i", 0) + snap(TEXT)),
    "xerial, garbage": (Codec.SNAPPY, xerial(b"garbage")),
    "xerial, block of 2^32 - 1": (Codec.SNAPPY, xerial(b"\xff\xff\xff\xff\x0f")),
    "lz4, header checksum": (Codec.LZ4, b"\x04\x22\x4d\x18\x60\x40\x00" + bytes(4)),
    "lz4, size that lies": (Codec.LZ4, lz4.frame.compress(TEXT)[:6] + b"\xff" * 8 + bytes(9)),
    "lz4, block of 2 GiB": (Codec.LZ4, lz4.frame.compress(TEXT)[:15] + b"\xff\xff\xff\x7f"),
    "zstd, size that lies": (Codec.ZSTD, bytes.fromhex("28b52ffd e0") + b"\xff" * 7 + bytes(5)),
    "zstd, window of 2^41": (Codec.ZSTD, bytes.fromhex("28b52ffd 00 f8 010000")),
    "zstd, window of 256 MiB": (Codec.ZSTD, bytes.fromhex("28b52ffd 00 90 010000")),
    "zstd, reserved block": (Codec.ZSTD, bytes.fromhex("28b52ffd 00 58 070000")),
    "zstd, dictionary": (Codec.ZSTD, bytes.fromhex("28b52ffd 01 58 07") + b"\x0d\x00\x00x"),
    "zstd, garbage behind it": (Codec.ZSTD, zstd_without_size(TEXT) + b"garbage"),
    "zstd, many frames": (Codec.ZSTD, zstd_without_size(b"") * 100),
}  # fmt: skip


@pytest.mark.parametrize("wreck", WRECKS)
def test_what_a_library_cannot_read_is_a_corrupt_batch(wreck: str) -> None:
    """Four libraries have a dozen exceptions; none of them gets out."""
    codec, data = WRECKS[wreck]
    with pytest.raises(CorruptBatch):
        decompress(codec, data)


IN_PARTS = {"gzip of two members", "snappy, xerial", "zstd, two frames"}
WITH_MORE = {"gzip and what is no member", "lz4 and what follows"}


@pytest.mark.parametrize("form", sorted(FORMS.keys() - IN_PARTS - WITH_MORE))
def test_a_stream_cut_at_any_byte_is_refused(form: str) -> None:
    """Also where all the data had come already, and only the end was missing."""
    codec, data = FORMS[form]
    for cut in [*range(300), *range(len(data) - 300, len(data))]:
        with pytest.raises(CorruptBatch):
            decompress(codec, data[:cut])


@pytest.mark.parametrize("form", sorted(IN_PARTS))
def test_a_stream_in_parts_cut_at_any_byte_gives_whole_parts_or_nothing(form: str) -> None:
    """Between two parts nobody can see that more was to come; the count of records tells."""
    codec, data = FORMS[form]
    whole = 0
    for cut in [*range(300), *range(len(data) - 300, len(data))]:
        try:
            part = decompress(codec, data[:cut])
        except CorruptBatch:
            continue
        assert part in {b"", TEXT[:99], TEXT[:32_768]}
        whole += 1
    assert whole


REPEATED_BLOCK = (128 * 1024 << 3 | 1 << 1).to_bytes(3, "little") + b"x"
BOMBS: dict[str, tuple[Codec, Callable[[], bytes]]] = {
    "gzip": (Codec.GZIP, lambda: compress(Codec.GZIP, bytes(24 * MIB))),
    "gzip, members": (Codec.GZIP, lambda: compress(Codec.GZIP, bytes(2 * MIB)) * 12),
    "snappy": (Codec.SNAPPY, lambda: snap(bytes(24 * MIB))),
    "snappy, xerial": (Codec.SNAPPY, lambda: xerial(*[snap(bytes(MIB))] * 24)),
    "lz4": (Codec.LZ4, lambda: compress(Codec.LZ4, bytes(24 * MIB))),
    "zstd": (Codec.ZSTD, lambda: zstd_without_size(bytes(24 * MIB))),
    "zstd with its size": (Codec.ZSTD, lambda: compress(Codec.ZSTD, bytes(24 * MIB))),
    "zstd, frames": (Codec.ZSTD, lambda: compress(Codec.ZSTD, bytes(2 * MIB)) * 12),
    "zstd, a gigabyte in 32 KiB": (
        Codec.ZSTD,
        lambda: bytes.fromhex("28b52ffd 00 58") + REPEATED_BLOCK * 8191 + b"\x01\x00\x00",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_the_limit_of_memory(name: str) -> None:
    """It costs what the limit allows, however much it wants to become."""
    codec, make = BOMBS[name]
    data, limit = make(), 4 * MIB
    tracemalloc.start()
    try:
        with pytest.raises(BatchTooLarge):
            decompress(codec, data, limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * limit + MIB


def test_a_size_that_lies_allocates_nothing() -> None:
    """Twelve bytes say that they are fifty megabytes; the library would make room for them."""
    frame = bytes.fromhex("28b52ffd a0 00002003 090000") + b"x"
    tracemalloc.start()
    try:
        with pytest.raises(CorruptBatch, match="cannot become 52428800"):
            decompress(Codec.ZSTD, frame)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MIB


@pytest.mark.parametrize("limit", [0, -1, -(1 << 40)])
@pytest.mark.parametrize("codec", CODECS)
def test_no_room_is_no_room(codec: Codec, limit: int) -> None:
    """Some libraries take 0 or -1 for no limit; it never gets that far."""
    with pytest.raises(BatchTooLarge):
        decompress(codec, compress(codec, b"x"), limit)


def test_no_caller_can_lift_the_absolute_limit() -> None:
    """What could not have been sent is not made here either."""
    data = zstd_without_size(bytes(DECOMPRESSED_BYTES_MAX + 1))
    with pytest.raises(BatchTooLarge):
        decompress(Codec.ZSTD, data, 1 << 40)


def test_the_broken_checksum_of_old_lz4_frames_is_mended() -> None:
    """Java clients of magic 0 took it over the wrong bytes; the frame is sound otherwise."""
    for options in (
        {"block_linked": False, "store_size": False},
        {"block_linked": True, "store_size": True, "block_size": lz4.frame.BLOCKSIZE_MAX1MB},
        {"content_checksum": True, "block_checksum": True, "store_size": True},
    ):
        frame = bytearray(lz4.frame.compress(TEXT, **options))
        frame[14 if frame[4] & 0x08 else 6] ^= 0xFF
        with pytest.raises(CorruptBatch):
            decompress(Codec.LZ4, bytes(frame))
        assert decompress(Codec.LZ4, with_true_lz4_checksum(bytes(frame))) == TEXT
    for cut in range(20):
        with pytest.raises(CorruptBatch):
            decompress(Codec.LZ4, with_true_lz4_checksum(bytes(frame[:cut])))
