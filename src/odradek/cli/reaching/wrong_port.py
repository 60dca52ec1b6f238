"""What is spoken at an address where Kafka's protocol does not answer as it was asked.

ZooKeeper's, HTTP, SSH, TLS where it was asked without, Kafka's own where it was asked in TLS or
without a login. Each is recognised by its answer to the shortest thing that it answers. Nothing is
asked before a broker's answer has failed to come.
"""

import asyncio
import ssl
from contextlib import suppress
from enum import Enum
from typing import Final, cast

from odradek.cli.words.failing import UNREACHABLE, Failed
from odradek.client.addresses import written
from odradek.model.errors import BrokerError, ErrorCode
from odradek.ports import Address
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.wire.schema import Request

ANSWER_SECONDS: Final = 2.0
BYTES_MAX: Final = 1_024
SASL_VERSION: Final = 1


def _frame(request: Request, version: int) -> bytes:
    return b"".join(cast("list[bytes]", request_frame(request, version, 7, None)))


_KAFKA: Final = _frame(ApiVersionsRequest(), 0)
_KAFKA_ANSWERS: Final = (7).to_bytes(4, "big")
_TLS_ANSWERS: Final = (b"\x15\x03", b"\x16\x03")
_LOGIN: Final = _frame(SaslHandshakeRequest(""), SASL_VERSION)


class Spoken(Enum):
    """A protocol, and what is said of an address where it is spoken and another was expected."""

    ZOOKEEPER = "is the port of a ZooKeeper server, not of a broker"
    HTTP = "answers HTTP, as a broker's admin.listener with /metrics does"
    SSH = "is the port of an SSH server, not of a broker"
    ANOTHER = "speaks another protocol than Kafka's"
    TLS = "speaks TLS, and was asked without"
    KAFKA = "answers without TLS, and was asked in TLS"


ANOTHER_PORT: Final = "name the port of a broker's listener, often 9092"
NEXT_STEPS: Final = {
    Spoken.TLS: "-X security.protocol=SSL, or SASL_SSL; or name another listener",
    Spoken.KAFKA: "-X security.protocol=PLAINTEXT, or SASL_PLAINTEXT; or name another listener",
}


class WrongPort(Failed):
    """No listener of a broker is there, or one that has to be asked in another way."""


def _hello() -> bytes:
    """How TLS begins."""
    context, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO()
    context.check_hostname = False  # nothing but the first answer is of interest
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), ours).do_handshake()
    return ours.read()


async def spoken_at(address: Address, *, in_tls: bool) -> Spoken | None:
    """What is spoken there that was asked without TLS, or with it; None: none of these."""
    asked = (b"srvr", b"GET / HTTP/1.0\r\n\r\n", _KAFKA if in_tls else _hello())
    zookeeper, http, other = await asyncio.gather(*(_answer(address, it) for it in asked))
    if zookeeper.startswith((b"Zookeeper version", b"srvr is not executed")):
        return Spoken.ZOOKEEPER
    if http.startswith(b"HTTP/"):
        return Spoken.HTTP
    if zookeeper.startswith(b"SSH-"):
        return Spoken.SSH
    if in_tls and other[4:].startswith(_KAFKA_ANSWERS):
        return Spoken.KAFKA
    if not in_tls and other.startswith(_TLS_ANSWERS):
        return Spoken.TLS
    is_strange = any(it and not it.startswith(_TLS_ANSWERS) for it in (zookeeper, http))
    return Spoken.ANOTHER if is_strange else None  # a broker closes, without a word


async def wrong_port(address: Address, *, in_tls: bool = False) -> WrongPort | None:
    """The same, for a person."""
    found = await spoken_at(address, in_tls=in_tls)
    if found is None:
        return None
    return WrongPort(
        f"{written(address)} {found.value}", NEXT_STEPS.get(found, ANOTHER_PORT), UNREACHABLE
    )


async def wants_login(address: Address) -> WrongPort | None:
    """Whether a broker that closed the connection without TLS asks for a name there."""
    frame = (await _answer(address, _LOGIN))[4:]
    try:
        answer = read_response(SaslHandshakeResponse, SASL_VERSION, frame)[1]
    except (BrokerError, IndexError):
        return None
    if answer.error_code != ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return None
    offered = ", ".join(answer.mechanisms)
    return WrongPort(
        f"{written(address)} asks for a login ({offered}), and none was given",
        "-X security.protocol=SASL_PLAINTEXT with sasl.mechanism and sasl.jaas.config",
    )


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
