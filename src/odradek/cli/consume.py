"""`odradek consume`: records become lines."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from odradek.cli.talking import bootstrap, chosen, talk
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.client.member import Member, starting_positions
from odradek.client.reader import EARLIEST, LATEST, Found, Reader, offsets_at
from odradek.model.errors import InvalidSetting
from odradek.model.ids import TopicPartition

Printer = Callable[[Found], None]
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "0": "\0"}


@click.command()
@click.argument("topic")
@click.option("-p", "--partition", "numbers", type=int, multiple=True, help="By default all.")
@click.option(
    "-o",
    "--offset",
    "where",
    default="beginning",
    show_default=True,
    help="beginning, end, an offset, -N for the last N of each partition, or @ and a time: "
    "milliseconds since 1970 or as 2026-01-31T12:00.",
)
@click.option("-n", "--count", type=int, help="End after so many records.")
@click.option("-e", "--exit", "exit_at_end", is_flag=True, help="End where the topic ends.")
@click.option("-g", "--group", help="As a member of this group, which remembers what was read.")
@click.option("-f", "--format", "form", help="%t %p %o %k %s %T %h, and \\n: as kcat has them.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
@click.option("--read-committed", "committed", is_flag=True, help="Not what was aborted.")
@bootstrap
def command(  # noqa: PLR0913 - each is an option
    *,
    bootstrap: str,
    topic: str,
    numbers: tuple[int, ...],
    where: str,
    count: int | None,
    exit_at_end: bool,
    group: str | None,
    form: str | None,
    as_json: bool,
    committed: bool,
) -> None:
    """Print the records of a topic, one a line, until it is interrupted.

    Without --format a line is the record's value.
    """
    printer = _as_json if as_json else _formatted(form) if form else _values

    async def ask(cluster: Cluster) -> None:
        left = count
        if group is not None:
            await _as_member(cluster, Member(cluster, group, [topic]), where, (printer, left))
            return
        partitions = await admin.partitions_of(cluster, topic)
        positions = await _positions(cluster, chosen(partitions, numbers), where)
        reader = Reader(cluster, positions, committed=committed)
        while not _is_done(reader, exit_at_end=exit_at_end):
            for found in await reader.poll():
                if left == 0:
                    return
                printer(found)
                left = None if left is None else left - 1
            if left == 0:
                return

    talk(bootstrap, ask)


def _is_done(reader: Reader, *, exit_at_end: bool) -> bool:
    if not exit_at_end:
        return False
    return all(reader.positions[it] >= reader.ends.get(it, 1 << 62) for it in reader.positions)


async def _as_member(
    cluster: Cluster, member: Member, where: str, output: tuple[Printer, int | None]
) -> None:
    """Through all generations; what was printed is committed."""
    printer, left = output
    reset = LATEST if where == "end" else EARLIEST
    try:
        while left != 0:
            assigned = await member.join()
            positions = await starting_positions(cluster, member.group, assigned, reset)
            reader = Reader(cluster, positions)
            while await member.still_belongs():
                for found in await reader.poll():
                    if left == 0:
                        reader.positions[found.partition] = found.record.offset
                        break
                    printer(found)
                    left = None if left is None else left - 1
                await member.commit(reader.positions)
                if left == 0:
                    return
    finally:
        await member.leave()


async def _positions(
    cluster: Cluster, partitions: list[TopicPartition], where: str
) -> dict[TopicPartition, int]:
    if where in {"beginning", "earliest"}:
        return await offsets_at(cluster, partitions, EARLIEST)
    if where in {"end", "latest"}:
        return await offsets_at(cluster, partitions, LATEST)
    ends = await offsets_at(cluster, partitions, LATEST)
    if where.startswith("@"):
        found = await offsets_at(cluster, partitions, millis_of(where[1:]))
        return {it: ends[it] if offset < 0 else offset for it, offset in found.items()}
    try:
        offset = int(where)
    except ValueError:
        raise InvalidSetting(f"--offset {where[:40]!r}: see --help") from None
    if offset >= 0:
        return dict.fromkeys(partitions, offset)
    starts = await offsets_at(cluster, partitions, EARLIEST)
    return {it: max(ends[it] + offset, starts[it]) for it in partitions}


def millis_of(text: str) -> int:
    """A moment as people write it; without a zone it is UTC."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSetting(f"{text[:40]!r} is no time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000)


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _values(found: Found) -> None:
    _write((found.record.value or b"") + b"\n")


def _as_json(found: Found) -> None:
    record = found.record
    line: dict[str, Any] = {
        "topic": found.partition.topic,
        "partition": found.partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
    }
    if record.headers:
        line["headers"] = {_text(name): _text(value) for name, value in record.headers}
    _write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _formatted(form: str) -> Printer:
    """Each letter behind a percent sign stands for a part of the record."""

    def write(found: Found) -> None:
        out, letters = bytearray(), iter(form)
        for letter in letters:
            if letter == "\\":
                out += ESCAPES.get(next(letters, ""), "").encode()
            elif letter == "%":
                out += _part(found, next(letters, "%"))
            else:
                out += letter.encode()
        _write(bytes(out))

    return write


def _part(found: Found, letter: str) -> bytes:
    record, partition = found.record, found.partition
    match letter:
        case "s":
            return record.value or b""
        case "k":
            return record.key or b""
        case "h":
            pairs = (name + b"=" + (value or b"") for name, value in record.headers)
            return b",".join(pairs)
        case "t" | "p" | "o" | "T" | "S" | "K":
            numbers = {
                "t": partition.topic,
                "p": partition.partition,
                "o": record.offset,
                "T": record.timestamp,
                "S": -1 if record.value is None else len(record.value),
                "K": -1 if record.key is None else len(record.key),
            }
            return str(numbers[letter]).encode()
        case _:
            return f"%{letter}".encode()
