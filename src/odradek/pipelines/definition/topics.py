"""A pipeline whose table is one for each topic: what its file says of one of them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from odradek.pipelines.definition.definition import Definition
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import Selection
from odradek.pipelines.tables.location import parse

TOPIC: Final = "{topic}"

_NO_IDENTIFIER = re.compile(r"[^A-Za-z0-9_]")


def is_for_each(definition: Definition) -> bool:
    """Whether each topic has a table of its own."""
    return TOPIC in definition.archive.table


def of_topic(definition: Definition, topic: str) -> Definition:
    """The pipeline of one topic."""
    job = definition.archive
    letters = job.dead_letters
    if isinstance(letters, DeadLetterTable):
        letters = replace(letters, location=_placed(letters.location, topic))
    job = replace(
        job,
        source=replace(job.source, selection=Selection(topics=(topic,))),
        table=_placed(job.table, topic),
        dead_letters=letters,
    )
    return replace(definition, archive=job)


def of_each(definition: Definition) -> dict[str, Definition]:
    """One for each topic that there is now; the brokers are asked."""
    names = SourceOffsets(definition.archive.source).latest().topics
    found = {name: of_topic(definition, name) for name in sorted(names)}
    places: dict[str, str] = {}
    for name, it in found.items():
        other = places.setdefault(it.archive.table, name)
        if other != name:
            raise PipelineError(
                f"topics {other} and {name} would have one table, {it.archive.table}: "
                "an Iceberg catalog has no other name for one of them"
            )
    return found


def known_without_brokers(definition: Definition) -> tuple[str, ...]:
    """The topics that the file names; of a pattern those that have a table in a directory here."""
    selection = definition.archive.source.selection
    if selection.topics:
        return tuple(sorted(selection.topics))
    _, place = parse(definition.archive.table)
    before, _, behind = place.partition(TOPIC)
    folder = Path(before)
    if "://" in place or not before.endswith("/") or not folder.is_dir():
        return ()
    names = (it.name for it in folder.iterdir() if Path(f"{it}{behind}").is_dir())
    pattern = re.compile(selection.pattern or "")
    return tuple(sorted(it for it in names if pattern.fullmatch(it)))


def chosen(definition: Definition, topic: str | None) -> Definition:
    """The pipeline that a verb works on; InvalidOption if a topic must be named, or must not."""
    if not is_for_each(definition):
        if topic is not None:
            raise InvalidOption("--topic chooses among tables, and this pipeline has one table")
        return definition
    if topic is None:
        raise InvalidOption(
            f"{definition.archive.table} is a table for each topic: choose one by --topic NAME"
        )
    return of_topic(definition, topic)


def _placed(location: str, topic: str) -> str:
    form, place = parse(location)
    is_identifier = form == "iceberg" and "/" not in place
    return location.replace(TOPIC, _NO_IDENTIFIER.sub("_", topic) if is_identifier else topic)
