"""Subjects of certificates in DER, by chance: several attributes in one part, marks, odd types."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

UTF8: Final = 0x0C
SEQUENCE: Final = 0x30
SET: Final = 0x31
OBJECT_ID: Final = 0x06
CHARSETS: Final = {
    UTF8: "utf-8",
    0x12: "ascii",  # NumericString
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # T61String
    0x16: "ascii",  # IA5String
    0x1A: "ascii",  # VisibleString
    0x1B: "latin-1",  # GeneralString
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}
OTHERS: Final = (0x02, 0x04, 0x30)  # no texts
OBJECT_IDS: Final = (
    *(f"2.5.4.{it}" for it in (3, 3, 3, 5, 6, 7, 8, 9, 10, 11, 12)),
    "0.9.2342.19200300.100.1.1",
    "0.9.2342.19200300.100.1.25",
    "1.2.840.113549.1.9.1",
    "1.3.6.1.4.1.311.60.2.1.3",
    "2.999.7",
)
LETTERS: Final = 'aB7 ##  ,+"\\<>;=/:-\0\r\n\tÄé中🔑'


def element(tag: int, content: bytes) -> bytes:
    """One, with its length."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def object_id(text: str) -> bytes:
    """As an element."""
    first, second, *rest = map(int, text.split("."))
    content = bytearray()
    for number in (40 * first + second, *rest):
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(number & 0x7F | 0x80)
        content += bytes(reversed(groups))
    return element(OBJECT_ID, bytes(content))


def relative_name(attributes: Iterable[tuple[str, int, bytes]]) -> bytes:
    """One part of a name: object id, type and bytes of each of its attributes."""
    pairs = [
        element(SEQUENCE, object_id(number) + element(tag, value))
        for number, tag, value in attributes
    ]
    return element(SET, b"".join(pairs))


def subject(relatives: Sequence[bytes]) -> bytes:
    """All parts, the first one first."""
    return element(SEQUENCE, b"".join(relatives))


def certificate_of(name: bytes) -> bytes:
    """As much of a certificate as it takes to hold a subject."""
    empty = element(SEQUENCE, b"")
    return element(SEQUENCE, element(SEQUENCE, element(2, b"\1") + 3 * empty + name))


def subjects(chance: Random, count: int) -> list[bytes]:
    """The same ones for the same chance."""
    return [_subject(chance) for _ in range(count)]


def _subject(chance: Random) -> bytes:
    return subject([_relative(chance) for _ in range(chance.choice((0, 1, 1, 2, 3, 4)))])


def _relative(chance: Random) -> bytes:
    return relative_name([_attribute(chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))])


def _attribute(chance: Random) -> tuple[str, int, bytes]:
    number = chance.choice(OBJECT_IDS)
    if chance.random() < 0.05:
        return number, chance.choice(OTHERS), chance.randbytes(chance.randrange(1, 9))
    tag = chance.choice([UTF8] * 8 + list(CHARSETS))
    text = "".join(chance.choice(LETTERS) for _ in range(chance.randrange(10)))
    value = text.encode(CHARSETS[tag], "replace")
    if chance.random() < 0.05:
        value = chance.randbytes(len(value))
    return number, tag, value
