"""How verbs print: a table, an outcome, a document. People, scripts and programs read the same.

On a terminal a table is aligned, and nothing is cut. Elsewhere its columns are separated by tabs,
under one line of names, and nothing else stands there: what is said about it goes to stderr. With
`--json` each row is an object whose keys are the columns' names, and bytes that are no text are
`{"base64": "..."}`.
"""

import base64
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from shutil import get_terminal_size
from typing import IO, Final

import click

from odradek.cli.showing.aligning import LINE, aligned
from odradek.cli.showing.cells import cell
from odradek.cli.words.failing import Failed
from odradek.cli.words.options import options, pasted

NO_TOPIC: Final = "no topic: odradek topic create NAME"


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
        click.echo(pasted(nothing))
        return
    if not sys.stdout.isatty():
        for row in (titles, *found):
            click.echo("\t".join(cell(value) for value in row))
        return
    names, lines = aligned(titles, found, get_terminal_size((LINE, 0)).columns)
    for name in names:
        click.echo(_bold(name))
    for line in lines:
        click.echo(line)


def is_too_wide(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
    """For the terminal: it would break every line."""
    room = get_terminal_size((LINE, 0)).columns
    return is_terminal() and any(len(it) > room for it in aligned(columns, rows, room)[1])


def show_done(columns: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> None:
    """The table of a verb that acts: that nothing was to be done is said wherever it is called."""
    found = list(rows)
    show_table(columns, found, nothing)
    if not found and (options().as_json or not is_terminal()):
        click.echo(f"odradek: {pasted(nothing)}", err=True)


def tell(text: str) -> None:
    """A sentence about a table: above it on a terminal; elsewhere rows alone are on stdout."""
    click.echo(text, err=not is_terminal())


def tell_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """For a person who decides something: beside the output, whatever that is."""
    for line in chain(*aligned(titles, rows)):
        click.echo(line, err=True)


def _bold(text: str) -> str:
    """Where a terminal has it and no user has asked for plain text."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return text if is_plain else click.style(text, bold=True)


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


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
