"""A pipeline's file, drafted from records: columns, types, how often each was seen, contradictions.

Its reader decides; what a run does then does not depend on which records come first.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from odradek.model.counting import counted
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.formats.fitting import fitted
from odradek.pipelines.formats.json_text import NoObject, read_object
from odradek.pipelines.formats.names import Unfit, check_name, once
from odradek.pipelines.formats.types import TIME_UNITS, TIMESTAMP, merged, settled, type_of, written
from odradek.pipelines.moving.values import PREFIX
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.planning import plan
from odradek.pipelines.source.reading import read_batches

DIGITS_MAX: Final = 38
CENTURY: Final = (978_307_200, 4_102_444_800)
"""Seconds from 1970 to its beginning and its end."""
BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(slots=True)
class Seen:
    """What a field held: values, and where each of them was."""

    values: list[Any] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Column:
    """A field as a column; `contradicts` says what does not fit, and where it was first."""

    name: str
    kind: pa.DataType
    seen: int
    contradicting: int = 0
    contradicts: str = ""
    unit: str = ""
    """Of which its numbers may be times."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a sample says."""

    records: int
    objects: int
    without_value: int
    columns: tuple[Column, ...]
    no_columns: Mapping[str, str]
    """Fields that none can be made of, with the reason."""
    other: str = ""
    """The first value that is no object."""


def draft(source: SourceOptions, count: int) -> Draft:
    """What so many records say: of each partition the oldest and the newest."""
    return drafted(sampled(source, count))


def sampled(source: SourceOptions, count: int) -> Iterator[tuple[str, bytes | None]]:
    """Places and values."""
    offsets = SourceOffsets(source)
    whole = plan(source, offsets.earliest(), offsets.latest())
    if not whole:
        raise PipelineError("the topics hold no record that a file could be drafted from")
    each = max(2, count // len(whole))
    for it in whole:
        middle = max(it.start + each // 2, it.end - each // 2)
        first = replace(it, end=min(it.start + each // 2, it.end))
        last = replace(it, start=min(middle, it.end))
        for piece in (first, last):
            for batch in read_batches(source, piece, ("offset", "value")) if piece.size > 0 else ():
                numbers, values = (it.to_pylist() for it in batch.columns)
                for offset, value in zip(numbers, values, strict=True):
                    yield f"offset {offset} of {it.topic}-{it.partition}", value


def drafted(sample: Iterator[tuple[str, bytes | None]]) -> Draft:
    """What these values say."""
    fields: dict[str, Seen] = {}
    records = objects = without = 0
    other = ""
    for place, value in sample:
        records += 1
        if value is None:
            without += 1
            continue
        try:
            found = read_object(value)
        except NoObject as error:
            other = other or f"{error}, at {place}"
            continue
        objects += 1
        for name in found:
            if found[name] is not None:
                _note(fields.setdefault(name, Seen()), found, name, place)
    columns: list[Column] = []
    refused: dict[str, str] = {}
    for name, seen in fields.items():
        try:
            if name.startswith(PREFIX):
                raise Unfit(f"names with {PREFIX!r} before them are the record's")  # noqa: TRY301
            check_name(name, [it.name for it in columns])
            columns.append(_column(name, seen))
        except Unfit as reason:
            refused[name] = f"{reason}; in {counted(len(seen.places), 'record')}"
    kept = tuple(it for it in columns if it.seen)
    return Draft(records, objects, without, kept, refused, other)


def _note(seen: Seen, found: Mapping[str, Any], name: str, place: str) -> None:
    try:
        seen.values.append(once(found, name))
        seen.places.append(place)
    except Unfit as reason:
        seen.faults.append(f"{reason}, at {place}")


def _column(name: str, seen: Seen) -> Column:
    """With the type that most values have."""
    kind = _type(seen.values)
    faults = list(seen.faults)
    for value, place in zip(seen.values, seen.places, strict=True):
        try:
            fitted(value, kind)
        except Unfit as reason:
            faults.append(f"{reason}, at {place}")
    first = faults[0] if faults else ""
    count = len(seen.values) - len(faults) + len(seen.faults)
    unit = _unit_of(seen.values) if kind == pa.int64() else ""
    return Column(name, kind, count, len(faults), first, unit)


def _unit_of(values: Sequence[Any]) -> str:
    """In which all of them are times of this century; a name or a price seldom is."""
    numbers = [it for it in values if type(it) is int]
    for unit, micros in TIME_UNITS.items():
        least, most = (it * 1_000_000 // micros for it in CENTURY)
        if numbers and all(least <= it <= most for it in numbers):
            return unit
    return ""


def _type(values: Sequence[Any]) -> pa.DataType:
    groups: dict[pa.DataType, list[Any]] = {}
    for value in values:
        try:
            kind = settled(type_of(value))
        except Unfit:
            continue
        if kind is not None:
            groups.setdefault(kind, []).append(value)
    numbers = [it for it in values if type(it) in {int, Decimal}]
    if len(numbers) > len(values) / 2:
        return _of_numbers(numbers)
    if not groups:
        raise Unfit("nothing says of which type it is")
    common = sorted(groups, key=lambda it: -len(groups[it]))
    found = common[0]
    for kind in common[1:]:
        try:
            found = merged(found, kind)
        except Unfit:
            continue
    return _of_texts(groups[pa.string()]) if found == pa.string() else found


def _of_numbers(numbers: Sequence[int | Decimal]) -> pa.DataType:
    """`long` or `double` where they hold all; else a decimal, if one does; else the commoner."""
    kinds: list[pa.DataType] = [pa.int64(), pa.float64()]
    exact = [Decimal(it).normalize() for it in numbers]
    scale = max(-min(int(it.as_tuple().exponent), 0) for it in exact)
    whole = max(it.adjusted() + 1 for it in exact)
    if scale <= DIGITS_MAX and max(whole, 1) + scale <= DIGITS_MAX:
        kinds.append(pa.decimal128(DIGITS_MAX, scale))
    held = {kind: sum(_holds(it, kind) for it in numbers) for kind in kinds}
    return max(kinds, key=lambda it: held[it])


def _of_texts(texts: Sequence[str]) -> pa.DataType:
    """Times and dates, if all of them are."""
    for kind, length in ((pa.date32(), 10), (TIMESTAMP, 19)):
        if all(len(it) >= length and "-" in it and _holds(it, kind) for it in texts):
            return kind
    return pa.string()


def _holds(value: Any, kind: pa.DataType) -> bool:
    try:
        fitted(value, kind)
    except Unfit:
        return False
    return True


def text_of(found: Draft, bootstrap: str, topics: Sequence[str], table: str) -> str:
    """The file."""
    form = "json" if found.objects >= max(1, found.records / 2) else "raw"
    seen = f"{found.objects} JSON objects, {found.without_value} without a value"
    lines = [f"# Drafted from {counted(found.records, 'record')} of {', '.join(topics)}: {seen}."]
    if found.other:
        lines.append(f"# Others are dead letters. The first: {_shown(found.other)}")
    lines += [
        f"name = {json.dumps(re.sub(r'[^A-Za-z0-9._-]', '-', topics[0]) + '-to-lake')}",
        "",
        "[source]",
        f"bootstrap-server = {json.dumps(bootstrap)}",
        f"topics = {json.dumps(list(topics))}",
        "",
        "[values]",
        f'format = "{form}"',
    ]
    if form == "json":
        lines += ["", "[values.columns]", *map(_line, found.columns)]
        lines += [
            f"# no column: {_shown(it)}: {_shown(why)}" for it, why in found.no_columns.items()
        ]
    lines += ["", "[dead-letters]", f"table = {json.dumps(f'{table}-dead')}"]
    lines += ["", "[table]", f"location = {json.dumps(table)}", ""]
    return "\n".join(lines)


def _line(column: Column) -> str:
    name = column.name if BARE.fullmatch(column.name) else json.dumps(column.name)
    said = f"seen {counted(column.seen, 'time')}"
    if column.contradicting:
        said += f"; {column.contradicting} contradict, the first: {_shown(column.contradicts)}"
    if column.unit:
        said += f"; if they are times: timestamp({column.unit})"
    return f"{name} = {json.dumps(written(column.kind))}  # {said}"


def _shown(text: str) -> str:
    """In one line of a comment."""
    return "".join(it if it.isprintable() else "?" for it in text)[:200]
