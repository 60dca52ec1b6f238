"""Messages to bytes and back, at any version: the one door to the compiler.

A function for a pair of message and version is compiled when it is first asked for, which takes
about a millisecond, and kept with the class.
"""

from collections.abc import Callable, Generator
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from odradek.model.errors import UnsupportedVersion
from odradek.model.limits import ELEMENTS_MAX
from odradek.ports import Chunk
from odradek.wire.compiler.decoder import compile_decoder
from odradek.wire.compiler.encoder import compile_encoder
from odradek.wire.schema import Buffer, Message

T = TypeVar("T")
M = TypeVar("M", bound=Message)
M_co = TypeVar("M_co", bound=Message, covariant=True)

Slices: TypeAlias = Generator[None, None, T]
"""Work that pauses, so that others have their turn; what it returns is what came of it."""

_SLICED_DECODERS: Final[dict[tuple[type[Message], int], Callable[..., Any]]] = {}
_SLICED_ENCODERS: Final[dict[tuple[type[Message], int], Callable[..., Any]]] = {}


class Decoder(Protocol[M_co]):
    """A compiled function: `elements` bounds all array elements and tagged fields together."""

    def __call__(
        self, buffer: bytes | bytearray, position: int = 0, elements: int = ELEMENTS_MAX, /
    ) -> tuple[M_co, int]:
        """The message that begins at the position, and where it ends."""


def decode(message: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """The message that begins at `position`, and where it ends.

    Bytes and records come as views into the buffer (of a view, into a copy). What lies behind the
    message is the caller's affair. MalformedRequest says which field could not be read;
    UnsupportedVersion, that we do not know this version.
    """
    if isinstance(buffer, memoryview):
        buffer = bytes(buffer)
    found = message.DECODERS.get(version) or decoder(message, version)
    return found(buffer, position)


def encode(message: Message, version: int) -> list[Chunk]:
    """The message as pieces that lie behind one another; records are passed on, not copied.

    UnsupportedVersion says that a field is set which this version has not, and which may not be
    dropped. A value that a field cannot hold is our own mistake, and an AssertionError.
    """
    return encoder(type(message), version)(message)


def encoded(message: Message, version: int) -> bytes:
    """The message as one piece; for what is small, or on its way into a file."""
    return b"".join(encode(message, version))  # type: ignore[arg-type]  # none from a file


def decoder(message: type[M], version: int) -> Decoder[M]:
    """The compiled function behind `decode`, for those who call it often."""
    found = message.DECODERS.get(version)
    if found is None:
        found = message.DECODERS[version] = compile_decoder(message, _known(message, version))
    return found


def encoder(message: type[M], version: int) -> Callable[[M], list[Chunk]]:
    """The compiled function behind `encode`, for those who call it often."""
    found = message.ENCODERS.get(version)
    if found is None:
        found = message.ENCODERS[version] = compile_encoder(message, _known(message, version))
    return found


def decode_in_slices(
    message: type[M], version: int, buffer: bytes | bytearray, position: int
) -> Slices[tuple[M, int]]:
    """As `decode`, with a pause after some hundred elements."""
    key = message, version
    if key not in _SLICED_DECODERS:
        known = _known(message, version)
        _SLICED_DECODERS[key] = compile_decoder(message, known, sliced=True)
    found: Slices[tuple[M, int]] = _SLICED_DECODERS[key](buffer, position)
    return found


def encode_in_slices(message: Message, version: int) -> Slices[list[Chunk]]:
    """As `encode`, with a pause after some hundred elements."""
    key = type(message), version
    if key not in _SLICED_ENCODERS:
        known = _known(type(message), version)
        _SLICED_ENCODERS[key] = compile_encoder(type(message), known, sliced=True)
    found: Slices[list[Chunk]] = _SLICED_ENCODERS[key](message)
    return found


def _known(message: type[Message], version: int) -> int:
    if version not in message.VERSIONS:
        first, last = message.VERSIONS[0], message.VERSIONS[-1]
        raise UnsupportedVersion(f"{message.__name__} v{version}: {first} to {last} are known")
    return version
