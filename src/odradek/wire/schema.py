"""What a message is made of: the table that the compiler reads, and the base of every struct.

A generated class is one struct for all its versions. It holds its fields as slots, takes them by
position or by name, and carries `FIELDS`: which versions have a field, where it may be null, which
tag it has. Nothing here knows a byte of the wire; that is the compiler's.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from odradek.ports import Chunk

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Bytes of a message. A decoder gives a view into the frame; an encoder takes any of the three."""

Records: TypeAlias = bytes | bytearray | memoryview | list[Chunk]
"""Record batches: as one piece, or as pieces that lie behind one another. They are never copied."""

LATEST: Final = 32767  # an open range of versions ends here
NO_UUID: Final = bytes(16)


class Primitive(NamedTuple):
    """A type without parts: its name in Kafka's definitions, and `struct`'s code if it has one."""

    name: str
    code: str
    size: int
    default: Any


BOOL: Final = Primitive("bool", "?", 1, default=False)
INT8: Final = Primitive("int8", "b", 1, 0)
INT16: Final = Primitive("int16", "h", 2, 0)
UINT16: Final = Primitive("uint16", "H", 2, 0)
INT32: Final = Primitive("int32", "i", 4, 0)
INT64: Final = Primitive("int64", "q", 8, 0)
FLOAT64: Final = Primitive("float64", "d", 8, 0.0)
UUID: Final = Primitive("uuid", "16s", 16, NO_UUID)
STRING: Final = Primitive("string", "", 0, "")
SHORT_STRING: Final = Primitive("short_string", "", 0, "")  # int16 length in flexible versions too
BYTES: Final = Primitive("bytes", "", 0, b"")
RECORDS: Final = Primitive("records", "", 0, None)


class Array(NamedTuple):
    """A count and so many elements."""

    of: "Element"  # Kafka has no arrays of arrays


Element: TypeAlias = "Primitive | type[Struct]"
Type: TypeAlias = "Primitive | Array | type[Struct]"
DEFAULT: Final[Any] = object()  # the default that the type itself has


class Field(NamedTuple):
    """One field: in which versions it is on the wire, and how."""

    name: str
    type: Type
    since: int = 0
    until: int = LATEST
    default: Any = DEFAULT
    null: tuple[int, int] | None = None  # first and last version in which it may be null
    tag: int | None = None
    ignorable: bool = False  # dropped without an error by versions that lack it

    def present(self, version: int) -> bool:
        """Whether this version has the field."""
        return self.since <= version <= self.until

    def nullable(self, version: int) -> bool:
        """Whether it may be null in this version."""
        return self.null is not None and self.null[0] <= version <= self.null[1]


class Struct:
    """Named fields in a fixed order. Two are equal if they are of one kind and their fields are."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()
    KIND: ClassVar[type["Struct"]]
    BLANK: ClassVar[type["Struct"]]

    def __init_subclass__(cls, *, blank: bool = False) -> None:
        """Gives every struct a twin without a constructor, which the decoder fills in place.

        A constructor in Python costs twice what the rest of decoding a struct does. The twin is a
        subclass of the same name with the same slots, so only the decoder needs to know.
        """
        if blank:
            return
        cls.KIND = cls
        members = {"__slots__": (), "__init__": object.__init__, "__module__": cls.__module__}
        cls.BLANK = type(cls.__name__, (cls,), members, blank=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or other.KIND is not self.KIND:
            return NotImplemented
        for field in self.FIELDS:
            one, two = getattr(self, field.name), getattr(other, field.name)
            if one != two and _plain(one) != _plain(two):
                return False
        return True

    __hash__ = None  # type: ignore[assignment]  # they are values that change

    def __repr__(self) -> str:
        """Only what differs from the defaults: a log line shows what was said."""
        blank = self.KIND()
        shown = (
            f"{field.name}={_shown(getattr(self, field.name))}"
            for field in self.FIELDS
            if _plain(getattr(self, field.name)) != _plain(getattr(blank, field.name))
        )
        return f"{self.KIND.__name__}({', '.join(shown)})"


class Message(Struct):
    """A struct that is sent or stored for itself: it has versions of its own."""

    __slots__ = ()
    VERSIONS: ClassVar[range]
    FLEXIBLE_FROM: ClassVar[int | None] = None  # compact lengths and tagged fields (KIP-482)
    DECODERS: ClassVar[dict[int, Callable[..., Any]]]  # by version, filled by `codec`
    ENCODERS: ClassVar[dict[int, Callable[..., Any]]]

    def __init_subclass__(cls, *, blank: bool = False) -> None:
        """A message keeps its compiled functions; its twin shares them."""
        super().__init_subclass__(blank=blank)
        if not blank:
            cls.DECODERS, cls.ENCODERS = {}, {}

    @classmethod
    def flexible(cls, version: int) -> bool:
        """Whether this version is written the newer way."""
        return cls.FLEXIBLE_FROM is not None and version >= cls.FLEXIBLE_FROM


class Request(Message):
    """What a client asks; `KEY` is the number of its API."""

    __slots__ = ()
    KEY: ClassVar[int]


class Response(Message):
    """What it is answered."""

    __slots__ = ()
    KEY: ClassVar[int]


class RecordKey(Message):
    """The key of a record in an internal topic: `TYPE`, an int16, stands before it."""

    __slots__ = ()
    TOPIC: ClassVar[str]
    TYPE: ClassVar[int]


class RecordValue(Message):
    """The value that belongs to a key of the same type: its version, an int16, stands before it."""

    __slots__ = ()
    TOPIC: ClassVar[str]
    TYPE: ClassVar[int]


def _plain(value: Any) -> Any:
    """Lists and tuples of the same elements are the same array."""
    return tuple(value) if isinstance(value, list) else value


def _shown(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview) and len(value) > 32:
        return f"<{len(value)} bytes>"
    return repr(bytes(value)) if isinstance(value, memoryview) else repr(value)
