"""Varints: what fits is read, what is longer than its width can need is refused."""

import pytest

from odradek.model.errors import CorruptBatch
from odradek.records.varint import read_varint, read_varlong, write_varint

INT32 = [0, -1, 1, 63, -64, 64, -65, 8191, -8192, 8192, 300_000, (1 << 31) - 1, -(1 << 31)]
INT64 = [*INT32, 1 << 31, -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63)]


def encoded(value: int) -> bytes:
    """The bytes of one number."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


def test_small_numbers_take_few_bytes() -> None:
    """Zig-zag: either sign is short as long as the number is small."""
    assert [encoded(n).hex() for n in (0, -1, 1, 63, 64, -65)] == [
        "00", "01", "02", "7e", "8001", "8101",
    ]  # fmt: skip
    assert len(encoded(-(1 << 31))) == 5
    assert len(encoded(-(1 << 63))) == 10


@pytest.mark.parametrize("value", INT32)
def test_32_bits_come_back(value: int) -> None:
    """Each reader takes every number of its width, and stops right behind it."""
    data = b"\xff" + encoded(value) + b"\xff"
    assert read_varint(data, 1) == (value, len(data) - 1)


@pytest.mark.parametrize("value", INT64)
def test_64_bits_come_back(value: int) -> None:
    """Each reader takes every number of its width, and stops right behind it."""
    data = b"\xff" + encoded(value) + b"\xff"
    assert read_varlong(data, 1) == (value, len(data) - 1)


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, (1 << 63) - 1])
def test_a_number_that_is_too_wide_is_refused(value: int) -> None:
    """A length of 33 bits is no length."""
    with pytest.raises(CorruptBatch):
        read_varint(encoded(value), 0)


@pytest.mark.parametrize("length", [5, 6, 10, 11, 10_000])
def test_a_varint_of_more_bytes_than_its_width_needs_is_refused(length: int) -> None:
    """Padding with zeros does not make a number; nobody counts along for ever."""
    data = b"\x80" * length + b"\x00"
    with pytest.raises(CorruptBatch):
        read_varint(data, 0)
    if length >= 10:
        with pytest.raises(CorruptBatch):
            read_varlong(data, 0)


def test_65_bits_in_ten_bytes_are_refused() -> None:
    """The tenth byte of a number has room for one bit only."""
    with pytest.raises(CorruptBatch):
        read_varlong(b"\xff" * 9 + b"\x02", 0)


def test_data_that_ends_amid_a_varint_is_the_callers_to_refuse() -> None:
    """IndexError, and nothing read that is not there."""
    for value in (64, 1 << 20, 1 << 60):
        for cut in range(len(encoded(value))):
            with pytest.raises(IndexError):
                read_varlong(encoded(value)[:cut], 0)
