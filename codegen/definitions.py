"""The message definitions: what `codegen/messages/*.txt` say, read into values.

One file per API (request and response), per family of records of an internal topic, or per group
of free-standing messages. A line is a field: name, type, and what deviates from the common case.

    topic_id: uuid 13+ tag 0 = null ignorable
              |    |   |     |      `- left out without an error where a version lacks the field
              |    |   |     `- the default; without it 0, false, "", no elements, an empty struct
              |    |   `- written among the tagged fields, under this number
              |    `- the versions that have it; without it, all that have the struct
              `- a type; `?` may be null, `?(2-7)` in these versions only; `[x]` is an array

The fields of a struct stand indented below the first field of its type, or, where several share
it, in a block `struct Name` of their own.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MESSAGES: Final = Path(__file__).parent / "messages"
LATEST: Final = 32767  # an open range ends here: no version is larger

PRIMITIVES: Final = frozenset(
    {"bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid"}
    | {"string", "short_string", "bytes", "records"}
)

_FIELD = re.compile(
    r"(?P<name>\w+): (?P<open>\[)?(?P<type>\w+)\]?(?P<null>\?(\((?P<nulls>[^)]+)\))?)?"
    r"( (?P<versions>\d\S*))?( tag (?P<tag>\d+))?( = (?P<default>\S+))?(?P<ignorable> ignorable)?"
)
_VERSIONS = re.compile(r"(?P<versions>\d\S*?)(, flexible (?P<flexible>\d+)\+)?")


class Malformed(Exception):
    """A line that is not of the form above; the text names file and line."""


@dataclass(frozen=True)
class Versions:
    """From the first to the last, both inclusive."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """`3`, `3-5` or `3+`."""
        if text.endswith("+"):
            return cls(int(text[:-1]), LATEST)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __str__(self) -> str:
        """As it is written."""
        if self.last == LATEST:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


ALL: Final = Versions(0, LATEST)


@dataclass(frozen=True)
class Field:
    """One line. `default` is as written; None where the type's own default holds."""

    name: str
    type: str
    array: bool
    versions: Versions
    null: Versions | None
    tag: int | None
    default: str | None
    ignorable: bool


@dataclass
class Struct:
    """Named fields, in the order of the wire."""

    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass
class Message(Struct):
    """A struct that is sent or stored for itself, and therefore has versions."""

    kind: str = "message"
    number: int | None = None
    versions: Versions = ALL
    flexible_from: int | None = None


@dataclass
class Module:
    """One file: an API, a family of records of one topic, or messages that stand alone."""

    name: str
    api: str | None = None
    key: int | None = None
    topic: str | None = None
    messages: list[Message] = field(default_factory=list)
    structs: dict[str, Struct] = field(default_factory=dict)

    def inner_first(self) -> list[Struct]:
        """Every struct after those that it is made of; it also proves that none holds itself."""
        done: dict[str, Struct] = {}
        open_names: list[str] = []

        def visit(struct: Struct) -> None:
            assert struct.name not in open_names, f"{struct.name} holds itself"
            if struct.name in done:
                return
            open_names.append(struct.name)
            for child in struct.fields:
                if child.type not in PRIMITIVES:
                    visit(self.structs[child.type])
            open_names.pop()
            done[struct.name] = struct

        for message in self.messages:
            visit(message)
        unused = self.structs.keys() - done.keys()
        assert not unused, f"{self.name}: nothing is made of {sorted(unused)}"
        return list(done.values())


def load(folder: Path = MESSAGES) -> list[Module]:
    """Every file of the folder, in the order of their names."""
    return [_Parser(path).module() for path in sorted(folder.glob("*.txt"))]


class _Parser:
    """Reads one file. `open` are the structs whose fields may follow, by their indentation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.result = Module(path.stem)
        self.open: list[Struct] = []
        self.record: tuple[int, str] | None = None

    def module(self) -> Module:
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            text = line.strip()
            if not text:
                continue
            depth, rest = divmod(len(line) - len(text), 4)
            try:
                if rest or depth > len(self.open):
                    raise ValueError("the indentation")  # noqa: TRY301 - one place names the line
                if depth:
                    self.field(text, depth)
                else:
                    self.head(*text.split(" ", 1))
            except (ValueError, AssertionError) as error:
                raise Malformed(f"{self.path.name}:{number}: {line!r}: {error}") from error
        return self.result

    def head(self, kind: str, rest: str) -> None:
        match kind:
            case "api":
                number, self.result.api = rest.split(" ")
                self.result.key = int(number)
            case "topic":
                self.result.topic = rest
            case "record":
                number, name = rest.split(" ")
                self.record = int(number), name
            case "struct":
                self.open = [Struct(rest)]
            case "request" | "response":
                assert self.result.api
                self.message(kind, self.result.key, self.result.api + kind.capitalize(), rest)
            case "key" | "value":
                assert self.record
                number_, name = self.record
                self.message(kind, number_, name + kind.capitalize(), rest)
            case "message":
                name, rest = rest.split(" ", 1)
                self.message(kind, None, name, rest)
            case _:
                raise ValueError(f"no such heading: {kind}")

    def message(self, kind: str, number: int | None, name: str, versions: str) -> None:
        found = _VERSIONS.fullmatch(versions)
        assert found, "the versions"
        message = Message(
            name=name,
            kind=kind,
            number=number,
            versions=Versions.parse(found["versions"]),
            flexible_from=None if found["flexible"] is None else int(found["flexible"]),
        )
        self.result.messages.append(message)
        self.open = [message]

    def field(self, text: str, depth: int) -> None:
        found = _FIELD.fullmatch(text)
        assert found, "not a field"
        versions = Versions.parse(found["versions"]) if found["versions"] else ALL
        null = versions if found["null"] else None
        del self.open[depth:]
        owner = self.open[-1]
        if not owner.fields and not isinstance(owner, Message):
            assert owner.name not in self.result.structs, "a second struct of this name"
            self.result.structs[owner.name] = owner
        assert found["name"] not in {other.name for other in owner.fields}, "a second field"
        owner.fields.append(
            Field(
                name=found["name"],
                type=found["type"],
                array=found["open"] is not None,
                versions=versions,
                null=Versions.parse(found["nulls"]) if found["nulls"] else null,
                tag=None if found["tag"] is None else int(found["tag"]),
                default=found["default"],
                ignorable=found["ignorable"] is not None,
            )
        )
        if found["type"] not in PRIMITIVES:
            self.open.append(Struct(found["type"]))
