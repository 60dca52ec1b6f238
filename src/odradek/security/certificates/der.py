"""As much of DER as it takes to find the subject of an X.509 certificate, and when it is valid.

The certificate was verified by OpenSSL before; here it is only read. A length that does not fit
what is there raises `MalformedCertificate`.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

SEQUENCE: Final = 0x30
UTC_TIME: Final = 0x17
GENERALIZED_TIME: Final = 0x18
VERSION: Final = 0xA0  # [0], explicit
_LONG: Final = 0x80
_LENGTH_BYTES_MAX: Final = 4
_VALIDITY: Final = 3  # behind serial number, algorithm and issuer
_SUBJECT: Final = 4
_CENTURY_ENDS: Final = 50  # a year of two digits below it is one of 2000


class MalformedCertificate(ValueError):
    """Bytes that are no certificate."""


class Element(NamedTuple):
    """One element: its tag, its contents, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes


def elements(data: bytes) -> Iterator[Element]:
    """Those that stand one behind the other."""
    position = 0
    while position < len(data):
        element, position = _one(data, position)
        yield element


def _one(data: bytes, start: int) -> tuple[Element, int]:
    if start + 2 > len(data):
        raise MalformedCertificate("an element without a length")
    length, position = data[start + 1], start + 2
    if length & _LONG:
        count = length & ~_LONG
        if not 1 <= count <= _LENGTH_BYTES_MAX or position + count > len(data):
            raise MalformedCertificate("a length of a length that is none")
        length = int.from_bytes(data[position : position + count], "big")
        position += count
    end = position + length
    if end > len(data):
        raise MalformedCertificate("an element that is longer than what is there")
    return Element(data[start], data[position:end], data[start:end]), end


def subject(certificate: bytes) -> list[list[tuple[str, Element]]]:
    """The subject's relative names, each of one or more attributes: object id and value."""
    return [
        [_attribute(it.content) for it in elements(relative.content)]
        for relative in elements(_fields(certificate)[_SUBJECT].content)
    ]


def not_after(certificate: bytes) -> str:
    """The last second at which it is valid, as `20301231235959Z`."""
    times = list(elements(_fields(certificate)[_VALIDITY].content))
    if len(times) != 2 or times[1].tag not in {UTC_TIME, GENERALIZED_TIME}:
        raise MalformedCertificate("a certificate without a time at which it ends")
    text = times[1].content.decode("ascii", "replace")
    if times[1].tag == GENERALIZED_TIME:
        return text
    return ("20" if text[:2] < str(_CENTURY_ENDS) else "19") + text


def _fields(certificate: bytes) -> list[Element]:
    """What is signed: from the serial number on."""
    fields = list(elements(_inside(_inside(certificate))))
    if fields and fields[0].tag == VERSION:
        del fields[0]
    if len(fields) <= _SUBJECT:
        raise MalformedCertificate("a certificate without a subject")
    return fields


def _inside(data: bytes) -> bytes:
    """The contents of the first element, a sequence."""
    element = next(elements(data), None)
    if element is None or element.tag != SEQUENCE:
        raise MalformedCertificate("no sequence where a certificate has one")
    return element.content


def _attribute(data: bytes) -> tuple[str, Element]:
    found = list(elements(data))
    if len(found) != 2:
        raise MalformedCertificate("an attribute that is not an object id and a value")
    return object_id(found[0].content), found[1]


def object_id(data: bytes) -> str:
    """`2.5.4.3`."""
    numbers: list[int] = []
    number = 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if not byte & _LONG:
            numbers.append(number)
            number = 0
    if not numbers or data[-1] & _LONG:
        raise MalformedCertificate("an object id that does not end")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
