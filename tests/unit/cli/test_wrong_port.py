"""A port at which another protocol is spoken is recognised."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest

from odradek.cli.reaching.wrong_port import wrong_port

HTTP: Final = b"HTTP/1.1 400 Bad Request\r\n\r\n"


def zookeeper(said: bytes) -> bytes:
    """A server that has four-letter words on its white list, or not."""
    return b"srvr is not executed because it is not in the whitelist.\n" if said == b"srvr" else b""


def http(said: bytes) -> bytes:
    """It answers once a request is whole."""
    return HTTP if b"\r\n\r\n" in said else b""


def ssh(_said: bytes) -> bytes:
    """It speaks first, whatever it hears."""
    return b"SSH-2.0-OpenSSH_9.6\r\n"


def mail(_said: bytes) -> bytes:
    """Any other server, which says something."""
    return b"220 mail ESMTP\r\n"


def kafka(said: bytes) -> bytes:
    """A broker's listener without TLS, asked for the versions that it speaks."""
    is_asked = said[4:8] == b"\x00\x12\x00\x00"
    return b"\x00\x00\x00\x0a" + said[8:12] + bytes(6) if is_asked else b""


def broker(_said: bytes) -> bytes:
    """It closes on what is no request."""
    return b""


def tls(said: bytes) -> bytes:
    """A server without a certificate answers, too: with an alert."""
    theirs, ours = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs.write(said)
    with suppress(ssl.SSLError):
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_bio(
            theirs, ours, server_side=True
        ).do_handshake()
    return ours.read()


async def _told(answer: Callable[[bytes], bytes], *, in_tls: bool = False) -> str:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(await reader.read(1_000)))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        found = await wrong_port(server.sockets[0].getsockname(), in_tls=in_tls)
    return "" if found is None else str(found)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (zookeeper, "is the port of a ZooKeeper server"),
        (http, "answers HTTP"),
        (tls, "speaks TLS"),
        (ssh, "is the port of an SSH server"),
        (mail, "speaks another protocol than Kafka's"),
        (broker, ""),
    ],
)
def test_by_its_answer(answer: Callable[[bytes], bytes], says: str) -> None:
    """What is not recognised stays what it was."""
    told = asyncio.run(_told(answer))
    assert says in told
    assert bool(told) == bool(says)


def test_a_listener_without_tls_that_was_asked_in_tls() -> None:
    """And one with TLS whose certificate is not believed is no other protocol."""
    assert "answers without TLS" in asyncio.run(_told(kafka, in_tls=True))
    assert not asyncio.run(_told(tls, in_tls=True))
    assert not asyncio.run(_told(kafka))
