"""Our codec against kio's, which is generated from Kafka's definitions by other people.

It knows no version that Kafka 4 dropped, so the old ones are kafka-python's to witness.
"""

import io
from collections.abc import Iterator
from random import Random

import pytest

from odradek.wire import decode, encoded
from odradek.wire.apis import APIS
from odradek.wire.schema import Request, Response
from tests.samples.wire import sample

kio_index = pytest.importorskip("kio.index")
kio_serial = pytest.importorskip("kio.serial")

ROUNDS = 8
PAIRS_KNOWN = 600  # fewer would mean that this test compares less than it once did


def known(message: type[Request] | type[Response]) -> Iterator[tuple[int, type]]:
    """The versions that kio has too, with its classes."""
    for version in message.VERSIONS:
        load = kio_index.load_request_schema
        if issubclass(message, Response):
            load = kio_index.load_response_schema
        try:
            yield version, load(message.KEY, version)
        except kio_index.KioIndexError:
            continue


@pytest.mark.parametrize("key", APIS, ids=lambda key: APIS[key].name)
def test_kio_reads_what_we_write_and_writes_the_same(key: int) -> None:
    """Two codecs from the same facts agree on every byte, in both directions."""
    random = Random(key)
    for message in (APIS[key].request, APIS[key].response):
        for version, schema in known(message):
            read, write = kio_serial.entity_reader(schema), kio_serial.entity_writer(schema)
            for _ in range(ROUNDS):
                ours = sample(message, version, random, tame=True)
                data = encoded(ours, version)
                theirs, size = read(data, 0)
                assert size == len(data), (message, version)
                out = io.BytesIO()
                write(out, theirs)
                assert out.getvalue() == data, (message, version, theirs)
                assert decode(message, version, out.getvalue())[0] == ours, (message, version)


def test_kio_knows_as_much_as_it_did() -> None:
    """The comparison above is not silently about less than it was."""
    messages = [m for api in APIS.values() for m in (api.request, api.response)]
    assert sum(len(list(known(message))) for message in messages) >= PAIRS_KNOWN
