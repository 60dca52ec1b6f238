"""Our codec against kafka-python's, which keeps the versions that Kafka 4 dropped."""

import importlib
import pkgutil
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from odradek.wire import decode, encoded
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.schema import Request, Response
from tests.samples.wire import sample

protocol = pytest.importorskip("kafka.protocol")

ROUNDS = 8
PAIRS_KNOWN = 520  # fewer would mean that this test compares less than it once did


def their_classes() -> dict[tuple[int, bool], Any]:
    """By key, and whether it is a request."""
    from kafka.protocol.api_message import ApiMessage

    for module in pkgutil.walk_packages(protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name and "stubs" not in module.name:
            importlib.import_module(module.name)
    found = {}
    waiting = [ApiMessage]
    while waiting:
        parent = waiting.pop()
        waiting += parent.__subclasses__()
        if isinstance(getattr(parent, "API_KEY", None), int):
            found[parent.API_KEY, parent.type == "request"] = parent
    return found


THEIRS = their_classes()


def known(api: int) -> Iterator[tuple[type[Request] | type[Response], int, Any]]:
    """What they have of this API: our class, the version, their class."""
    for ours in (APIS[api].request, APIS[api].response):
        theirs = THEIRS.get((api, issubclass(ours, Request)))
        if theirs is not None:
            for version in range(min(theirs.max_version, ours.VERSIONS[-1]) + 1):
                yield ours, version, theirs


@pytest.mark.parametrize("key", APIS, ids=lambda key: APIS[key].name)
def test_kafka_python_reads_what_we_write_and_writes_the_same(key: int) -> None:
    """Two codecs from the same facts agree on every byte, from version 0 up."""
    random = Random(key)
    for message, version, theirs in known(key):
        for _ in range(ROUNDS):
            ours = sample(message, version, random, tame=True)
            if key == API_VERSIONS and isinstance(ours, ApiVersionsResponse):
                ours.error_code = 0  # they read an answer with an error as version 0
            data = encoded(ours, version)
            read = theirs.decode(data, version=version)
            read._header = None  # their encoder asks for one, and leaves it out if there is none
            assert bytes(read.encode(version=version)) == data, (message, version, read)
            assert decode(message, version, data)[0] == ours, (message, version)


def test_kafka_python_knows_as_much_as_it_did() -> None:
    """The comparison above is not silently about less than it was."""
    assert sum(len(list(known(key))) for key in APIS) >= PAIRS_KNOWN
