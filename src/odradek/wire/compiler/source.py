"""The text of one function as it grows, and which field each of its lines is about.

The second is what lets compiled code run without checks around every read: when a line fails, the
line's number tells the field, and only then anybody asks.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from odradek.wire.schema import DEFAULT, Array, Field, Message, Primitive, Struct

ELEMENTS_IN_A_SLICE: Final = 500
"""About half a millisecond of reading or writing."""


class Part(NamedTuple):
    """One item of a fused read or write: what it is about, and where it lies in the whole."""

    field: str
    start: int = 0
    end: int = 0


class Listing(NamedTuple):
    """Which message a function is for, and for each of its lines, what that is about."""

    title: str
    lines: list[tuple[Part, ...]]

    def at(self, fault: Exception) -> tuple[Part, ...]:
        """What the line is about in which the fault was raised, itself or in a helper."""
        assert fault.__traceback__
        return self.lines[fault.__traceback__.tb_lineno - 1]


class Source:
    """Collects lines; `path` is the field that is being written about."""

    at_pauses: tuple[str, ...] = ()  # what else is done there

    def __init__(self, message: type[Message], version: int, *, sliced: bool = False) -> None:
        self.message = message
        self.sliced = sliced  # a generator, which yields after so many elements of arrays
        self.version = version
        self.flexible = message.flexible(version)
        self.path: list[str] = []
        self.namespace: dict[str, Any] = {}
        self._lines: list[str] = []
        self._parts: list[tuple[Part, ...]] = []
        self._count = 0

    def emit(self, depth: int, text: str, parts: tuple[Part, ...] = ()) -> None:
        """Adds a line, indented, under the name of the current field or with the parts it reads."""
        self._lines.append("    " * depth + text)
        self._parts.append(parts or (Part(".".join(self.path)),))

    def pause(self, depth: int) -> None:
        """Behind the head of a loop over elements."""
        if self.sliced:
            self.emit(depth, "k -= 1")
            self.emit(depth, "if not k:")
            self.emit(depth + 1, f"k = {ELEMENTS_IN_A_SLICE}")
            for line in self.at_pauses:
                self.emit(depth + 1, line)
            self.emit(depth + 1, "yield")

    def fresh(self, prefix: str) -> str:
        """A name that is not yet taken."""
        self._count += 1
        return f"{prefix}{self._count}"

    def uses(self, text: str) -> bool:
        """Whether any line contains this."""
        return any(text in line for line in self._lines)

    def constant(self, value: object, prefix: str) -> str:
        """A name under which the function finds this value."""
        name = self.fresh(f"_{prefix}")
        self.namespace[name] = value
        return name

    def function(
        self, name: str, signature: str, *, head: list[str], guard: list[str]
    ) -> Callable[..., Any]:
        """Compiles: `head`, then the lines inside a `try`, then `guard` as its handlers."""
        title = f"<wire {self.message.__name__} v{self.version}>"
        if self.sliced:
            head = [*head, f"k = {ELEMENTS_IN_A_SLICE}", "if not k: yield"]
        before = [f"def {name}({signature}):", *(f"    {line}" for line in head), "    try:"]
        after = [f"    {line}" for line in guard]
        text = "\n".join([*before, *self._lines, *after, ""])
        parts = [(Part(""),)] * len(before) + self._parts
        self.namespace["_listing"] = Listing(f"{self.message.__name__} v{self.version}", parts)
        exec(compile(text, title, "exec"), self.namespace)  # noqa: S102 - this is the compiler
        function: Callable[..., Any] = self.namespace[name]
        return function


def fields_of(kind: type[Struct], version: int) -> tuple[list[Field], list[Field], list[Field]]:
    """A struct's fields in this version: in order; tagged, by their tags; and those it lacks."""
    plain = [f for f in kind.FIELDS if f.present(version) and f.tag is None]
    tagged = [f for f in kind.FIELDS if f.present(version) and f.tag is not None]
    absent = [f for f in kind.FIELDS if not f.present(version)]
    return plain, sorted(tagged, key=lambda f: f.tag or 0), absent


def default_text(source: Source, field: Field) -> str:
    """The default of a field, as an expression; a tagged struct is None where it is absent."""
    if field.default is not DEFAULT:
        return repr(field.default)
    if isinstance(field.type, Array):
        return "()"
    if isinstance(field.type, Primitive):
        return repr(field.type.default)
    if field.tag is not None and field.null is None:
        return "None"
    return f"{source.constant(field.type, 'S')}()"
