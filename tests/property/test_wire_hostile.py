"""Every decoder there is, on bytes that somebody has tampered with."""

from random import Random

import pytest

from odradek.model.errors import MalformedRequest
from odradek.wire import decode, encoded
from odradek.wire.schema import Message
from tests.samples.wire import classes, sample

CUTS = 12
CHANGES = 12
PATTERNS = [
    b"\xff\xff\xff\xff\x07",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff" * 12,
    b"\0",
    b"\xff",
]


@pytest.mark.parametrize("message", classes(), ids=lambda message: message.__name__)
def test_whatever_was_done_to_a_message(message: type[Message]) -> None:
    """It is read as another message, or refused with a sentence; nothing else ever comes out."""
    random = Random(11)
    for version in message.VERSIONS:
        data = encoded(sample(message, version, random), version)
        for _ in range(CUTS if data else 0):
            with pytest.raises(MalformedRequest, match=f"^{message.__name__} v{version}: "):
                decode(message, version, data[: random.randrange(len(data))])
        for _ in range(CHANGES):
            changed = bytearray(data)
            for _ in range(random.randrange(1, 4)):
                place = random.randrange(len(data) + 1)
                pattern = random.choice([*PATTERNS, random.randbytes(random.randrange(1, 6))])
                changed[place : place + len(pattern)] = pattern
            try:
                _, end = decode(message, version, changed)
            except MalformedRequest:
                continue
            assert end <= len(changed)
