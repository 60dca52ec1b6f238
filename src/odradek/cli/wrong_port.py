"""Which other protocol is spoken at an address where Kafka's is not: ZooKeeper's, HTTP, TLS.

Each is recognised by its answer to the shortest thing that it answers. Nothing is asked before a
broker's answer has failed to come.
"""

import asyncio
import ssl
from contextlib import suppress
from typing import Final

from odradek.cli.failing import UNREACHABLE, Failed
from odradek.ports import Address

ANSWER_SECONDS: Final = 1.0
BYTES_MAX: Final = 64


class WrongPort(Failed):
    """A server listens there that is no broker's PLAINTEXT listener."""


def _hello() -> bytes:
    """How TLS begins."""
    context, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO()
    context.check_hostname = False  # nothing but the first answer is of interest
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), ours).do_handshake()
    return ours.read()


async def wrong_port(address: Address) -> WrongPort | None:
    """What listens there; None where it is none of these."""
    where = f"{address[0]}:{address[1]}"
    asked = (b"srvr", b"GET / HTTP/1.0\r\n\r\n", _hello())
    zookeeper, http, tls = await asyncio.gather(*(_answer(address, it) for it in asked))
    if zookeeper.startswith((b"Zookeeper version", b"srvr is not executed")):
        what = "is the port of a ZooKeeper server, not of a broker"
    elif http.startswith(b"HTTP/"):
        what = "answers HTTP, as a broker's admin.listener with /metrics does"
    elif tls.startswith((b"\x15\x03", b"\x16\x03")):
        what = "speaks TLS, and this command speaks PLAINTEXT only"
    else:
        return None
    next_step = "name the port of a broker's PLAINTEXT listener, often 9092"
    return WrongPort(f"{where} {what}", next_step, UNREACHABLE)


async def _answer(address: Address, said: bytes) -> bytes:
    """The first bytes that come back; none, if none do in time."""
    writer = None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(said)
            return await reader.read(BYTES_MAX)
    except (OSError, TimeoutError):
        return b""
    finally:
        if writer is not None:
            writer.close()
