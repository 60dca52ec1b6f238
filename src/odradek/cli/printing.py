"""How verbs print: a table, an outcome, a document. People, scripts and programs read the same.

On a terminal a table is aligned and as wide as it is: nothing is cut. Elsewhere its columns are
separated by tabs, under one line of names. With `--json` each row is an object whose keys are the
columns' names, and bytes that are no text are `{"base64": "..."}`.
"""

import base64
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Final

import click

from odradek.cli.failing import Failed
from odradek.cli.options import options
from odradek.model.moments import moment_text
from odradek.model.units import KIB

UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class Size(int):
    """Bytes; on a terminal in the unit that fits, elsewhere as they are."""


class Moment(int):
    """Milliseconds since 1970; on a terminal a date and a time in UTC, elsewhere as they are."""


def counted(count: int, thing: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def output() -> IO[bytes]:
    """Where records go; a closed standard output is an error, and not as good as printed."""
    if sys.stdout is None:
        raise Failed("standard output is closed")
    return sys.stdout.buffer


def is_terminal() -> bool:
    """Whether people read it."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_json(value: object) -> None:
    """One document."""
    output()
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def json_text(data: bytes | None) -> str | dict[str, str] | None:
    """Bytes of a record for programs: text where they are text, and never changed."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]], nothing: str = "") -> None:
    """A table; `columns` are the keys in JSON. People are told `nothing` where it has no row."""
    found = list(rows)
    if options().as_json:
        print_json([dict(zip(columns, map(_plain, row), strict=True)) for row in found])
        return
    titles = [column.replace("_", " ") for column in columns]
    output()
    if not found and nothing and sys.stdout.isatty():
        click.echo(nothing)
        return
    if not sys.stdout.isatty():
        for row in (titles, *found):
            click.echo("\t".join(cell(value) for value in row))
        return
    for line in aligned(titles, found):
        click.echo(line)


def aligned(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Numbers to the right, everything else to the left; the last column is not padded."""
    cells = [[cell(value, for_people=True) for value in row] for row in rows]
    right = [
        any(isinstance(row[i], int | float) for row in rows)
        and all(isinstance(row[i], int | float | None) for row in rows)
        for i in range(len(titles))
    ]
    widths = [max(len(row[i]) for row in [list(titles), *cells]) for i in range(len(titles))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return [click.style(line(titles), bold=True), *map(line, cells)]


def show(document: object, *lines: str) -> None:
    """The document for programs, the lines for everybody else."""
    if options().as_json:
        print_json(document)
    else:
        output()
        for line in lines:
            click.echo(line)


def show_outcomes(outcomes: Sequence[tuple[str, Mapping[str, object]]], nothing: str = "") -> None:
    """What was done: a sentence for each, or an array of objects; `nothing` if there is none."""
    lines = [text for text, _ in outcomes] or [nothing] * bool(nothing)
    show([dict(fields) for _, fields in outcomes], *lines)


def cell(value: object, *, for_people: bool = False) -> str:
    """One value as it stands in a table."""
    if value is None:
        return "-"
    if isinstance(value, Size) and for_people:
        return _in_unit(value)
    if isinstance(value, Moment) and for_people:
        return moment_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, Mapping):
        return ",".join(f"{name}={it}" for name, it in value.items())
    return str(value)


def _in_unit(size: int) -> str:
    number, unit = float(size), 0
    while abs(number) >= KIB and unit < len(UNITS) - 1:
        number, unit = number / KIB, unit + 1
    return f"{size} B" if not unit else f"{number:.1f} {UNITS[unit]}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
