"""Writes the function that encodes one version of one message.

    encode(o) -> chunks that lie behind one another

In its text `small` are the pieces not yet joined, `w` adds one to them, and `out`, where there are
records, is what goes out.

Fields of fixed size that follow one another are written by one `pack`, arrays of numbers among
them. The small pieces are joined into one; records are passed on as they came, unless they are so
small that copying them is cheaper than sending them apart.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from odradek.model.limits import STRING_BYTES_MAX
from odradek.wire.compiler import primitives
from odradek.wire.compiler.shapes import Shapes, Slot
from odradek.wire.compiler.source import Part, Source, default_text, fields_of
from odradek.wire.schema import (
    BYTES,
    DEFAULT,
    RECORDS,
    SHORT_STRING,
    STRING,
    UUID,
    Array,
    Element,
    Field,
    Message,
    Primitive,
    Struct,
)

RECORDS_COPIED_MAX = 1024  # below, an entry of their own in the vector costs more than the copy


def compile_encoder(
    message: type[Message], version: int, *, sliced: bool = False
) -> Callable[..., Any]:
    """The function that writes this version; sliced, a generator that returns the same."""
    return _Encoder(message, version, sliced=sliced).compile()


class _Item(NamedTuple):
    """One item of a fused write: an expression for a number, or the name of an array of them."""

    code: str
    value: str
    field: str
    array: bool


class _Encoder(Source):
    """`run` is what is to be written next; `sink` the name of the list's append."""

    at_pauses = ("out.append(join(small))", "small.clear()")  # joining all at the end is long

    def __init__(self, message: type[Message], version: int, *, sliced: bool) -> None:
        super().__init__(message, version, sliced=sliced)
        self.run: list[_Item] = []
        self.sink = "w"
        self.namespace.update(
            varint=primitives.varint,
            VARINTS=primitives.VARINTS,
            tagged=primitives.tagged,
            chunk_bytes=primitives.chunk_bytes,
            unsupported=primitives.unsupported,
            join=b"".join,
            _faults=primitives.ENCODE_FAULTS,
            _unencodable=primitives.unencodable,
        )

    def compile(self) -> Callable[..., Any]:
        self.struct(2, self.message, "o")
        self.flush(2)
        if self.sliced or self.uses("out."):
            self.emit(2, "if small: out.append(join(small))")
            self.emit(2, "return out")
            head = ["out = []", "small = []", "w = small.append"]
        else:
            self.emit(2, "return [join(small)]")
            head = ["small = []", "w = small.append"]
        guard = ["except _faults as f:", "    raise _unencodable(f, _listing) from f"]
        return self.function("encode", "o", head=head, guard=guard)

    # -- what is fused -----------------------------------------------------------------------

    def write(self, code: str, value: str, *, array: bool = False) -> None:
        """Announces an item; an array is written with its count."""
        self.run.append(_Item(code, value, ".".join(self.path), array))

    def flush(self, depth: int) -> None:
        """Writes all that was announced."""
        run, self.run = self.run, []
        if not run:
            return
        parts = tuple(Part(item.field) for item in run)
        if any(item.array for item in run):
            self.flush_arrays(depth, run, parts)
        elif all(item.value.isdigit() for item in run):
            layout = ">" + "".join(item.code for item in run)
            content = struct.pack(layout, *(int(item.value) for item in run))
            self.emit(depth, f"{self.sink}({content!r})", parts)
        else:
            pack = self.constant(struct.Struct(">" + "".join(i.code for i in run)).pack, "p")
            values = ", ".join(item.value for item in run)
            self.emit(depth, f"{self.sink}({pack}({values}))", parts)

    def flush_arrays(self, depth: int, run: list[_Item], parts: tuple[Part, ...]) -> None:
        """A run with arrays is packed by a function that is kept by their lengths."""
        shapes = Shapes([Slot(i.code, i.array) for i in run], flexible=self.flexible)
        kept, shape, key = self.constant(shapes, "k"), self.fresh("f"), self.fresh("n")
        arrays = [item for item in run if item.array]
        lengths = ", ".join(f"len({item.value})" for item in arrays)
        self.emit(depth, f"{key} = {lengths}", tuple(Part(item.field) for item in arrays))
        self.emit(depth, f"try: {shape} = {kept}[{key}]")
        self.emit(depth, f"except KeyError: {shape} = {kept}.make({key})")
        values = ", ".join(item.value for item in run)
        self.emit(depth, f"{self.sink}({shape}({values}))", parts)

    def varint(self, depth: int, value: str) -> None:
        known = len(primitives.VARINTS)
        self.emit(depth, f"{self.sink}(VARINTS[{value}] if {value} < {known} else varint({value}))")

    # -- structs ------------------------------------------------------------------------------

    def struct(self, depth: int, kind: type[Struct], value: str) -> None:
        plain, tags, absent = fields_of(kind, self.version)
        for field in absent:
            if not field.ignorable:
                self.refuse(depth, field, f"{value}.{field.name}")
        for field in plain:
            self.path.append(field.name)
            self.field(depth, field, f"{value}.{field.name}")
            self.path.pop()
        if self.flexible and tags:
            self.tags(depth, value, tags)
        elif self.flexible:
            self.write("B", "0")

    def refuse(self, depth: int, field: Field, value: str) -> None:
        """This version cannot say what the field says: an error unless it is the default."""
        name = ".".join([*self.path, field.name])
        self.emit(depth, f"if {self.differs(field, value)}: unsupported(_listing, {name!r})")

    def differs(self, field: Field, value: str) -> str:
        """Whether a field has another value than its default, as an expression."""
        text = default_text(self, field)
        if isinstance(field.type, type) and field.default is DEFAULT:
            silent = self.differs_in(field.type, value)
            return f"{value} is not None and {silent}" if text == "None" else silent
        if text == "None":
            return f"{value} is not None"
        if isinstance(field.type, Array) or field.type is BYTES:
            return f"{value} is None or {value}" if field.null else value
        return f"{value} != {text}"

    def differs_in(self, kind: type[Struct], value: str) -> str:
        """Field by field where all are plain: comparing structs costs a call for each."""
        blank = self.constant(kind(), "D")
        if not all(isinstance(field.type, Primitive) for field in kind.FIELDS):
            return f"{value} != {blank}"
        pairs = (f"{value}.{field.name} != {blank}.{field.name}" for field in kind.FIELDS)
        return f"({' or '.join(pairs)})"

    def tags(self, depth: int, value: str, fields: list[Field]) -> None:
        """Only what differs from its default is written."""
        self.flush(depth)
        some = " or ".join(self.differs(field, f"{value}.{field.name}") for field in fields)
        found = self.fresh("t")
        self.emit(depth, f"if {some}:")
        self.emit(depth + 1, f"{found} = []")
        outer = self.sink
        for field in fields:
            self.path.append(field.name)
            content, self.sink = self.fresh("c"), self.fresh("w")
            self.emit(depth + 1, f"if {self.differs(field, f'{value}.{field.name}')}:")
            self.emit(depth + 2, f"{content} = []")
            self.emit(depth + 2, f"{self.sink} = {content}.append")
            self.field(depth + 2, field, f"{value}.{field.name}")
            self.flush(depth + 2)
            self.emit(depth + 2, f"{found}.append(({field.tag}, {content}))")
            self.path.pop()
        self.sink = outer
        self.emit(depth + 1, f"{self.sink}(tagged({found}))")
        self.emit(depth, f"else: {self.sink}(b'\\0')")

    # -- fields -------------------------------------------------------------------------------

    def field(self, depth: int, field: Field, value: str) -> None:
        nullable = field.nullable(self.version)
        kind = field.type
        if isinstance(kind, Primitive) and kind.code:
            self.write(kind.code, value)
            return
        if nullable:
            name = self.fresh("v")
            self.flush(depth)
            self.emit(depth, f"{name} = {value}")
            self.emit(depth, f"if {name} is None: {self.sink}({self.null(field)!r})")
            self.emit(depth, "else:")
            value, depth = name, depth + 1
        if isinstance(kind, Primitive):
            self.bytes(depth, kind, value)
        elif isinstance(kind, Array):
            self.array(depth, kind.of, value)
        else:
            if nullable:
                self.write("b", "1")
            name = self.fresh("s")
            self.flush(depth)
            self.emit(depth, f"{name} = {value}")
            self.struct(depth, kind, name)
        if nullable:
            self.flush(depth)

    def null(self, field: Field) -> bytes:
        kind = field.type
        if isinstance(kind, type):
            return b"\xff" if field.tag is None else b"\0"
        if self.flexible and kind is not SHORT_STRING:
            return b"\0"
        return b"\xff\xff" if kind in {STRING, SHORT_STRING} else b"\xff\xff\xff\xff"

    def length(self, depth: int, length: str, kind: Primitive | None) -> None:
        short = kind in {STRING, SHORT_STRING}
        if not self.flexible or kind is SHORT_STRING:
            self.write("h" if short else "i", length)
            self.flush(depth)
            return
        self.flush(depth)
        self.varint(depth, f"{length} + 1")

    def bytes(self, depth: int, kind: Primitive, value: str) -> None:
        length = self.fresh("n")
        if kind in {STRING, SHORT_STRING}:
            text = self.fresh("t")
            self.emit(depth, f"{text} = {value}.encode()")
            self.emit(depth, f"{length} = len({text})")
            if self.flexible:
                self.emit(depth, f"if {length} > {STRING_BYTES_MAX}: raise ValueError({length})")
            self.length(depth, length, kind)
            self.emit(depth, f"{self.sink}({text})")
        elif kind is BYTES:
            self.emit(depth, f"{length} = len({value})")
            self.length(depth, length, kind)
            self.emit(depth, f"{self.sink}({value})")
        else:
            self.records(depth, value)

    def records(self, depth: int, value: str) -> None:
        """They go out as they are: as one piece or as many, some of them still in a file."""
        length, records, many = self.fresh("n"), self.fresh("r"), self.fresh("m")
        self.flush(depth)
        self.emit(depth, f"{records} = {value}")
        self.emit(depth, f"{many} = type({records}) is list")
        self.emit(depth, f"{length} = chunk_bytes({records}) if {many} else len({records})")
        self.length(depth, length, RECORDS)
        self.emit(depth, f"if {length} <= {RECORDS_COPIED_MAX} and not {many}: w({records})")
        self.emit(depth, "else:")
        self.emit(depth + 1, "out.append(join(small))")
        self.emit(depth + 1, "small.clear()")
        self.emit(depth + 1, f"if {many}: out.extend({records})")
        self.emit(depth + 1, f"else: out.append({records})")

    # -- arrays -------------------------------------------------------------------------------

    def array(self, depth: int, of: Element, value: str) -> None:
        if isinstance(of, Primitive) and of.code and of is not UUID:
            name = self.fresh("a")
            self.emit(depth, f"{name} = {value}")
            self.write(of.code, name, array=True)
            return
        items, item, length = self.fresh("a"), self.fresh("i"), self.fresh("n")
        self.emit(depth, f"{items} = {value}")
        self.emit(depth, f"{length} = len({items})")
        self.length(depth, length, None)
        self.emit(depth, f"for {item} in {items}:")
        self.pause(depth + 1)
        if isinstance(of, type):
            self.struct(depth + 1, of, item)
        else:
            self.field(depth + 1, Field("", of), item)
        self.flush(depth + 1)
        self.emit(depth + 1, "pass")
