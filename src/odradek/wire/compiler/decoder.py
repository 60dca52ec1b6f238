"""Writes the function that reads one version of one message.

    decode(b, p, left) -> (message, position behind it)

It is given the bytes, a position, and how many elements and tags the message may have. In its text
`e` is the end of the bytes and `v` a view of them.

Fields of fixed size that follow one another are read by one `unpack_from`, straight into the slots
of a struct; an array of structs of fixed size is read in one sweep. What the frame claims is
checked before anything is made of it: a length against the bytes that remain, a count against the
smallest size of so many elements and against a budget for the whole message.
"""

import struct
from collections.abc import Callable
from typing import Any

from odradek.model.limits import ELEMENTS_MAX, STRING_BYTES_MAX
from odradek.wire.compiler import primitives
from odradek.wire.compiler.source import Part, Source, default_text, fields_of
from odradek.wire.schema import (
    SHORT_STRING,
    STRING,
    UUID,
    Array,
    Element,
    Field,
    Message,
    Primitive,
    Struct,
    Type,
)

SWEEP_MIN = 3  # elements from which on reading all of an array at once is the quicker way


def compile_decoder(
    message: type[Message], version: int, *, sliced: bool = False
) -> Callable[..., Any]:
    """The function that reads this version; sliced, a generator that returns the same."""
    return _Decoder(message, version, sliced=sliced).compile()


class _Decoder(Source):
    """`run` is what has been announced but not yet read: code, target and field of each item."""

    def __init__(self, message: type[Message], version: int, *, sliced: bool) -> None:
        super().__init__(message, version, sliced=sliced)
        self.run: list[tuple[str, str, str]] = []
        for name in ("longer", "skip_tags", "Refused"):
            self.namespace[name] = getattr(primitives, name)

    def compile(self) -> Callable[..., Any]:
        target = self.fresh("s")
        self.struct(2, self.message, target)
        self.emit(2, f"return {target}, p")
        self.namespace["_faults"] = primitives.DECODE_FAULTS
        self.namespace["_malformed"] = primitives.malformed
        head = ["e = len(b)"]
        if self.uses("v["):
            head.append("v = memoryview(b)")
        return self.function(
            "decode",
            f"b, p=0, left={ELEMENTS_MAX}",
            head=head,
            guard=[
                "except _faults as f:",
                "    raise _malformed(f, _listing, e, p) from None",
            ],
        )

    # -- what is fused -----------------------------------------------------------------------

    def read(self, code: str, target: str) -> None:
        """Announces an item of fixed size."""
        self.run.append((code, target, ".".join(self.path)))

    def flush(self, depth: int) -> None:
        """Reads all that was announced."""
        if not self.run:
            return
        run, self.run = self.run, []
        layout = struct.Struct(">" + "".join(code for code, _, _ in run))
        end, parts = 0, []
        for code, _, field in run:
            start, end = end, end + struct.calcsize(">" + code)
            parts.append(Part(field, start, end))
        targets = ", ".join(target for _, target, _ in run)
        if layout.format == ">B":
            self.emit(depth, f"{targets} = b[p]", tuple(parts))
        else:
            unpack = self.constant(layout.unpack_from, "u")
            comma = "," if len(run) == 1 else ""
            self.emit(depth, f"{targets}{comma} = {unpack}(b, p)", tuple(parts))
        self.emit(depth, f"p += {layout.size}")

    # -- structs ------------------------------------------------------------------------------

    def struct(self, depth: int, kind: type[Struct], target: str) -> None:
        """Makes the struct, fills its slots, and reads the tagged fields at its end."""
        blank = self.constant(kind.BLANK, "S")
        self.emit(depth, f"{target} = {blank}()")
        plain, tags, absent = fields_of(kind, self.version)
        self.absent(depth, target, [*absent, *tags])
        for field in plain:
            self.path.append(field.name)
            self.field(depth, field, f"{target}.{field.name}")
            self.path.pop()
        if self.flexible:
            self.tags(depth, target, tags)
        else:
            self.flush(depth)

    def absent(self, depth: int, target: str, fields: list[Field]) -> None:
        """Defaults for what is not there: one line for all slots that get the same."""
        by_text: dict[str, list[str]] = {}
        for field in fields:
            text = default_text(self, field)
            by_text.setdefault(text, []).append(f"{target}.{field.name}")
        for text, slots in by_text.items():
            self.emit(depth, f"{' = '.join(slots)} = {text}")

    def tags(self, depth: int, target: str, fields: list[Field]) -> None:
        count = self.fresh("n")
        self.path.append("tags")
        self.read("B", count)
        self.flush(depth)
        self.emit(depth, f"if {count}:")
        if fields:
            self.known_tags(depth + 1, count, target, fields)
        else:
            self.emit(depth + 1, f"p, left = skip_tags(b, p, {count}, left)")
        self.path.pop()

    def known_tags(self, depth: int, count: str, target: str, fields: list[Field]) -> None:
        """As in Kafka they may come in any order, and the last of two wins."""
        tag, end = self.fresh("t"), self.fresh("z")
        self.emit(depth, f"if {count} > 127: {count}, p = longer(b, p, {count})")
        self.emit(depth, f"left -= {count}")
        self.emit(depth, "if left < 0: raise Refused('more elements than a message may have')")
        self.emit(depth, f"for _ in range({count}):")
        depth += 1
        for name in (tag, end):
            self.emit(depth, f"{name} = b[p]")
            self.emit(depth, "p += 1")
            self.emit(depth, f"if {name} > 127: {name}, p = longer(b, p, {name})")
        self.emit(depth, f"{end} += p")
        self.emit(depth, f"if {end} > e: raise Refused('a tagged field ends behind the message')")
        for position, field in enumerate(fields):
            self.emit(depth, f"{'elif' if position else 'if'} {tag} == {field.tag}:")
            self.path[-1] = field.name
            self.field(depth + 1, field, f"{target}.{field.name}")
            self.flush(depth + 1)
            self.path[-1] = "tags"
        self.emit(depth, f"else: p = {end}")
        self.emit(
            depth, f"if p != {end}: raise Refused('a tagged field is not of the size it says')"
        )

    # -- fields -------------------------------------------------------------------------------

    def field(self, depth: int, field: Field, target: str) -> None:
        nullable = field.nullable(self.version)
        kind = field.type
        if isinstance(kind, Primitive) and kind.code:
            self.read(kind.code, target)
        elif isinstance(kind, Primitive):
            self.bytes(depth, kind, target, nullable=nullable)
        elif isinstance(kind, Array):
            self.array(depth, kind.of, target, nullable=nullable)
        else:
            absent = "not b[p - 1]" if field.tag is not None else "b[p - 1] > 127"
            self.child(depth, kind, target, absent=absent if nullable else "")

    def child(self, depth: int, kind: type[Struct], target: str, *, absent: str) -> None:
        """A struct within: where it may be null a byte says so, below 0, or 0 in a tagged field."""
        name = self.fresh("s")
        self.flush(depth)
        if absent:
            self.emit(depth, "p += 1")
            self.emit(depth, f"if {absent}: {target} = None")
            self.emit(depth, "else:")
            depth += 1
        self.struct(depth, kind, name)
        self.emit(depth, f"{target} = {name}")

    def length(self, depth: int, kind: Primitive | None) -> tuple[str, int]:
        """Reads a length or a count; returns its name, and by how much it is too high.

        In flexible versions one more than the length is written, and 0 is null.
        """
        name = self.fresh("n")
        short = kind in {STRING, SHORT_STRING}
        if not self.flexible or kind is SHORT_STRING:
            self.read("h" if short else "i", name)
            self.flush(depth)
            return name, 0
        self.read("B", name)
        self.flush(depth)
        self.emit(depth, f"if {name} > 127:")
        self.emit(depth + 1, f"{name}, p = longer(b, p, {name})")
        if short:
            most = STRING_BYTES_MAX + 1
            self.emit(depth + 1, f"if {name} > {most}: raise Refused(f'{{{name} - 1}} bytes')")
        return name, 1

    def null(self, depth: int, length: str, surplus: int, target: str) -> int:
        """The branch for null; returns the depth of the other one."""
        self.emit(depth, f"if {length} == {surplus - 1}: {target} = None")
        self.emit(depth, "else:")
        return depth + 1

    def bytes(self, depth: int, kind: Primitive, target: str, *, nullable: bool) -> None:
        length, surplus = self.length(depth, kind)
        if nullable:
            depth = self.null(depth, length, surplus, target)
        end = self.fresh("q")
        self.emit(depth, f"{end} = p + {length}{' - 1' if surplus else ''}")
        # one comparison for three mistakes: null where it may not be, negative, beyond the end
        self.emit(depth, f"if not p <= {end} <= e: raise Refused(f'a length of {{{end} - p}}')")
        if kind is STRING:
            self.emit(depth, f"{target} = b[p:{end}].decode()")
        elif kind is SHORT_STRING:  # a client id is a label: no reason to refuse a request
            self.emit(depth, f"{target} = b[p:{end}].decode('utf-8', 'replace')")
        else:
            self.emit(depth, f"{target} = v[p:{end}]")
        self.emit(depth, f"p = {end}")

    # -- arrays -------------------------------------------------------------------------------

    def array(self, depth: int, of: Element, target: str, *, nullable: bool) -> None:
        count, surplus = self.length(depth, None)
        if nullable:
            depth = self.null(depth, count, surplus, target)
        if surplus:
            self.emit(depth, f"{count} -= 1")
        least = self.smallest(of)
        claimed = count if least == 1 else f"{count} * {least}"
        self.emit(depth, f"left -= {count}")
        lie = f"{count} < 0 or {claimed} > e - p or left < 0"
        self.emit(depth, f"if {lie}: raise Refused(f'{{{count}}} elements')")
        if isinstance(of, Primitive) and of.code and of is not UUID:
            unpackers = self.constant(primitives.Unpackers(of.code), "a")
            self.emit(depth, f"{target} = {unpackers}[{count}](b, p)")
            self.emit(depth, f"p += {count}{'' if of.size == 1 else f' * {of.size}'}")
        elif isinstance(of, Primitive):
            self.elements(depth, of, count, target)
        else:
            self.structs(depth, of, count, target)

    def elements(self, depth: int, of: Primitive, count: str, target: str) -> None:
        items, item = self.fresh("x"), self.fresh("i")
        self.emit(depth, f"{target} = {items} = []")
        self.emit(depth, f"for _ in range({count}):")
        self.pause(depth + 1)
        self.field(depth + 1, Field("", of), item)
        self.flush(depth + 1)
        self.emit(depth + 1, f"{items}.append({item})")

    def structs(self, depth: int, of: type[Struct], count: str, target: str) -> None:
        items, item = self.fresh("x"), self.fresh("s")
        plain, _, _ = fields_of(of, self.version)
        sweeps = all(isinstance(f.type, Primitive) and f.type.code for f in plain)
        if plain and sweeps and not self.sliced:
            self.sweep(depth, of, count, target)
            if not self.flexible:
                return
            self.emit(depth, "else:")
            depth += 1
        self.emit(depth, f"{target} = {items} = []")
        self.emit(depth, f"for _ in range({count}):")
        self.pause(depth + 1)
        self.struct(depth + 1, of, item)
        self.emit(depth + 1, f"{items}.append({item})")

    def sweep(self, depth: int, of: type[Struct], count: str, target: str) -> None:
        """All elements at once, where each is of the same size: no tagged field in any of them."""
        items, item, end = self.fresh("x"), self.fresh("s"), self.fresh("q")
        plain, tags, absent = fields_of(of, self.version)
        codes = "".join(f.type.code for f in plain if isinstance(f.type, Primitive))
        layout = struct.Struct(">" + codes + ("x" if self.flexible else ""))
        blank, rows = self.constant(of.BLANK, "S"), self.constant(layout.iter_unpack, "r")
        self.emit(depth, f"{end} = p + {count} * {layout.size}")
        if self.flexible:
            some = f"b[p + {layout.size - 1}:{end}:{layout.size}]"
            self.emit(depth, f"if {count} >= {SWEEP_MIN} and not any({some}):")
            depth += 1
        self.emit(depth, f"{target} = {items} = [{blank}() for _ in range({count})]")
        slots = ", ".join(f"{item}.{f.name}" for f in plain)
        comma = "," if len(plain) == 1 else ""
        self.emit(depth, f"for {item}, ({slots}{comma}) in zip({items}, {rows}(v[p:{end}])):")
        self.absent(depth + 1, item, [*absent, *tags])
        self.emit(depth + 1, "pass")
        self.emit(depth, f"p = {end}")

    def smallest(self, kind: Type) -> int:
        """The fewest bytes that an element has on the wire; never 0, so that counts are bound."""
        if isinstance(kind, Array):
            return 1 if self.flexible else 4
        if isinstance(kind, Primitive):
            if kind.code:
                return kind.size
            if self.flexible and kind is not SHORT_STRING:
                return 1
            return 2 if kind in {STRING, SHORT_STRING} else 4
        plain, _, _ = fields_of(kind, self.version)
        sizes = (
            1 if f.nullable(self.version) and isinstance(f.type, type) else self.smallest(f.type)
            for f in plain
        )
        return max(1, sum(sizes) + self.flexible)
