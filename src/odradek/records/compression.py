"""The four codecs of Kafka, with a bound on what they may give.

A few bytes can ask for gigabytes, so no decoder here allocates by what its input claims: it stops
at the limit, and whatever else its library finds wrong becomes CorruptBatch. What stands behind
the compressed data is met as Kafka meets it: further gzip members and zstd frames count, what is
no gzip member is ignored, and so is all that follows an lz4 frame.

The libraries are loaded when first needed: most brokers only pass compressed batches on.
Contexts are not kept between calls, since disks have a thread each.
"""

import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final

from odradek.model.errors import BatchTooLarge, CorruptBatch, UnsupportedCompression
from odradek.model.limits import FRAME_BYTES_MAX
from odradek.model.units import KIB, MIB

DECOMPRESSED_BYTES_MAX: Final = FRAME_BYTES_MAX
"""What could not have been sent uncompressed is not accepted compressed either."""

GZIP_WBITS: Final = 31  # a gzip header and the largest window
STREAMS_MAX: Final = 16  # gzip members or zstd frames: clients write one, each costs a start
LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
LZ4_CHUNK_BYTES: Final = MIB  # the library allocates this much before it decodes
SNAPPY_EXPANSION_MAX: Final = 32  # an element of three bytes yields at most 64
XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER_BYTES: Final = 16  # the magic, a version, the oldest version that can read it
ZSTD_BLOCK_BYTES_MAX: Final = 128 * KIB
ZSTD_REPEATED: Final = 1  # a block that is one byte, as often as its length says
ZSTD_COMPRESSED: Final = 2


class Codec(IntEnum):
    """How the records of a batch are compressed, as the attributes number it."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Codec, data: bytes | bytearray, level: int | None = None) -> bytes:
    """The data in the form that every client reads; without a level, the library's usual one."""
    match codec:
        case Codec.GZIP:
            return zlib.compress(data, 6 if level is None else level, GZIP_WBITS)
        case Codec.SNAPPY:
            import cramjam  # noqa: PLC0415 - loaded when first needed

            return bytes(cramjam.snappy.compress_raw(data))
        case Codec.LZ4:
            import lz4.frame  # noqa: PLC0415 - loaded when first needed

            compressed: bytes = lz4.frame.compress(
                data,
                compression_level=0 if level is None else level,
                block_size=lz4.frame.BLOCKSIZE_MAX64KB,
                block_linked=False,  # Java cannot read linked blocks
                store_size=False,
            )
            return compressed
        case Codec.ZSTD:
            import zstandard  # noqa: PLC0415 - loaded when first needed

            return zstandard.ZstdCompressor(level=3 if level is None else level).compress(data)
    return bytes(data)


def decompress(codec: int, data: bytes | memoryview, limit: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The data as it was. BatchTooLarge beyond the limit, CorruptBatch for what is no such data."""
    if codec == Codec.NONE:
        return bytes(data)
    decoder = _DECODERS.get(codec)
    if decoder is None:
        raise UnsupportedCompression(f"there is no codec {codec}")
    limit = max(0, min(limit, DECOMPRESSED_BYTES_MAX))
    chunks: list[bytes] = []
    total = 0
    for chunk in decoder(memoryview(data), limit):
        total += len(chunk)
        if total > limit:
            raise BatchTooLarge(f"a batch decompresses to more than {limit} bytes")
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _gunzip(data: bytes | memoryview, limit: int) -> Iterator[bytes]:
    for _ in range(STREAMS_MAX):
        member = zlib.decompressobj(GZIP_WBITS)
        try:
            chunk = member.decompress(data, limit + 1)
        except zlib.error as error:
            raise CorruptBatch(f"gzip: {error}") from error
        yield chunk
        if not member.eof:
            raise CorruptBatch("gzip: cut off")
        limit -= len(chunk)
        data = member.unused_data
        if not data.startswith(b"\x1f\x8b"):
            return
    raise CorruptBatch(f"gzip: more than {STREAMS_MAX} members")


def _unsnap(data: memoryview, limit: int) -> Iterator[bytes]:
    """One raw block, or a row of them, each behind its length, as the xerial library frames it."""
    if bytes(data[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        yield _unsnap_block(data, limit)
        return
    at = XERIAL_HEADER_BYTES
    if len(data) < at:
        raise CorruptBatch("snappy: cut off")
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big", signed=True)
        at += 4
        if not 0 < length <= len(data) - at:
            raise CorruptBatch(f"snappy: a block of {length} bytes, {len(data) - at} are left")
        chunk = _unsnap_block(data[at : at + length], limit)
        yield chunk
        limit -= len(chunk)
        at += length


def _unsnap_block(block: memoryview, limit: int) -> bytes:
    import cramjam  # noqa: PLC0415 - loaded when first needed

    try:
        length = cramjam.snappy.decompress_raw_len(block)
        if length > SNAPPY_EXPANSION_MAX * len(block):
            raise CorruptBatch(f"snappy: {len(block)} bytes cannot become {length}")
        if length > limit:
            raise BatchTooLarge(f"snappy: a block of {length} bytes, where {limit} are allowed")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy: {error}") from error


def _unlz4(data: memoryview, limit: int) -> Iterator[bytes]:
    import lz4.frame  # noqa: PLC0415 - loaded when first needed

    context = lz4.frame.create_decompression_context()
    ended = False
    while not ended:
        most = min(LZ4_CHUNK_BYTES, limit + 1)
        try:
            chunk, read, ended = lz4.frame.decompress_chunk(context, data, max_length=most)
        except RuntimeError as error:
            raise CorruptBatch(f"lz4: {error}") from error
        yield chunk
        if not (chunk or read or ended):
            raise CorruptBatch("lz4: cut off")
        limit -= len(chunk)
        data = data[read:]


def with_true_lz4_checksum(data: bytes) -> bytes:
    """The frame with a header that the lz4 library writes for the same flags.

    Kafka's Java clients took the header's checksum over the wrong bytes as long as they wrote
    magic 0, and others copied the mistake, so there the checksum says nothing.
    """
    import lz4.frame  # noqa: PLC0415 - loaded when first needed

    if len(data) < 7 or data[:4] != LZ4_MAGIC:
        raise CorruptBatch("lz4: no frame")
    flags, block_size = data[4], data[5] >> 4
    header = lz4.frame.compress_begin(
        lz4.frame.create_compression_context(),
        block_size=min(max(block_size, 4), 7),
        block_linked=not flags & 0x20,
        block_checksum=bool(flags & 0x10),
        content_checksum=bool(flags & 0x04),
    )
    size_field = 8 if flags & 0x08 else 0
    return bytes(header) + data[7 + size_field :]


def _unzstd(data: memoryview, limit: int) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - loaded when first needed

    decompressor = zstandard.ZstdDecompressor()
    for _ in range(STREAMS_MAX):
        room = limit
        try:
            size, room = _zstd_frame(data, limit)
            most = max(min(room, limit), 1)
            chunk = decompressor.decompress(data[:size], max_output_size=most)
        except zstandard.ZstdError as error:
            if room > limit:
                raise BatchTooLarge(f"zstd: a frame of more than {limit} bytes") from error
            raise CorruptBatch(f"zstd: {error}") from error
        yield chunk
        limit -= len(chunk)
        data = data[size:]
        if not data:
            return
    raise CorruptBatch(f"zstd: more than {STREAMS_MAX} frames")


def _zstd_frame(data: memoryview, limit: int) -> tuple[int, int]:
    """The size of the frame, from the headers of its blocks, and the most that it can yield.

    Java and librdkafka write no content size, and the library believes one where it stands.
    """
    import zstandard  # noqa: PLC0415 - loaded when first needed

    frame = zstandard.get_frame_parameters(data)
    at = zstandard.frame_header_size(data)
    room = 0
    last = 0
    while not last:
        block = int.from_bytes(data[at : at + 3], "little")
        last, kind, length = block & 1, block >> 1 & 3, block >> 3
        room += ZSTD_BLOCK_BYTES_MAX if kind == ZSTD_COMPRESSED else length
        at += 3 + (1 if kind == ZSTD_REPEATED else length)
        if at > len(data):
            raise CorruptBatch("zstd: cut off")
    if frame.has_checksum:
        at += 4
    if frame.content_size != zstandard.CONTENTSIZE_UNKNOWN:
        if frame.content_size > room:
            raise CorruptBatch(f"zstd: {at} bytes cannot become {frame.content_size}")
        if frame.content_size > limit:
            raise BatchTooLarge(f"zstd: {frame.content_size} bytes, where {limit} are allowed")
    return at, room


_DECODERS: Final[dict[int, Callable[[memoryview, int], Iterator[bytes]]]] = {
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnap,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
