"""Every message at every version, through the encoder and back."""

from random import Random

import pytest

from odradek.wire import decode, encoded
from odradek.wire.schema import Message
from tests.samples.wire import classes, sample


@pytest.mark.parametrize("message", classes(), ids=lambda message: message.__name__)
def test_what_is_encoded_is_decoded(message: type[Message]) -> None:
    """No version loses, adds or moves a field: encoding and decoding are each other's inverse."""
    random = Random(7)
    for version in message.VERSIONS:
        for _ in range(10):
            before = sample(message, version, random)
            data = encoded(before, version)
            after, end = decode(message, version, data)
            assert end == len(data), (version, before)
            assert after == before, version
            assert encoded(after, version) == data, version
