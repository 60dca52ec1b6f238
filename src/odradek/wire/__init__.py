"""Kafka's messages as values: every API, both directions, version 0 up.

    request, end = decode(FetchRequest, 12, frame, position)
    chunks = encode(FetchResponse(responses=[...]), 12)

The classes are generated, one module per API, and imported one by one: `messages`. Pure: bytes in,
values out, and back.
"""

from odradek.wire.codec import decode, decoder, encode, encoded, encoder

__all__ = ["decode", "decoder", "encode", "encoded", "encoder"]
