"""`odradek consume`: records become lines."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import click

from odradek.cli.reaching.client_settings import client_settings
from odradek.cli.reaching.naming import TOPIC, topics_named
from odradek.cli.reaching.talking import chosen, talk
from odradek.cli.records.leaderless import offsets_or_why
from odradek.cli.records.telling import Telling, beside
from odradek.cli.showing.printing import output
from odradek.cli.showing.record_json import json_of_record
from odradek.cli.words.failing import MISUSED, Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.moments import millis_of
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.cli.words.record_format import printer_of
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import CorruptRecords
from odradek.client.records.member import Member, starting_positions
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.client.records.reader import Found, Reader
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis

Printer = Callable[[Found], bytes]
BEGINNING = frozenset({"beginning", "earliest"})
END = frozenset({"end", "latest"})
CORRUPT_NEXT: Final = (
    "odradek cluster health names its file; start a broker that has a replica, "
    "or go on behind it with --offset"
)


class Wanted(NamedTuple):
    """What is to be read."""

    topics: tuple[str, ...]
    numbers: tuple[int, ...]
    where: str
    exit_at_end: bool
    committed: bool


@click.command(cls=Verb)
@click.argument("topics", nargs=-1, required=True, type=TOPIC)
@click.option("-p", "--partition", "numbers", type=int, multiple=True, help="Default: all.")
@click.option(
    "-o",
    "--offset",
    "where",
    help="beginning, end, an offset, -N for the last N of each partition, or @TIME: "
    "@2026-01-31T12:00 or milliseconds since 1970.  [default: beginning]",
)
@click.option("-n", "--count", type=Whole(0), help="End after so many records.")
@click.option("-e", "--exit", "exit_at_end", is_flag=True, help="End at the end of the partitions.")
@click.option("-g", "--group", help="As a member of this group, which commits what was printed.")
@click.option("-f", "--format", "form", help="%t %p %o %k %s %T %h %K %S %% and \\n, as in kcat.")
@click.option("--read-committed", "committed", is_flag=True, help="Leave out aborted transactions.")
def command(  # noqa: PLR0913 - each is an option
    *,
    topics: tuple[str, ...],
    numbers: tuple[int, ...],
    where: str | None,
    count: int | None,
    exit_at_end: bool,
    group: str | None,
    form: str | None,
    committed: bool,
) -> None:
    """Print the records of a topic, one a line, until interrupted.

    Without --format a line is the record's value. --json prints an object a line; what is not UTF-8
    stands in it as {"base64": "..."}.
    """
    of_client = client_settings()
    group = group or of_client.get("group.id")
    committed = committed or of_client.get("isolation.level") == "read_committed"
    where = where or {"latest": "end"}.get(of_client.get("auto.offset.reset", ""), "beginning")
    if form is not None and options().as_json:
        raise click.UsageError("--format and --json exclude each other")
    if group is not None and numbers:
        raise click.UsageError("a group shares out partitions itself: -g and -p exclude each other")
    if group is not None and where not in BEGINNING | END:
        raise click.UsageError(
            "with -g, -o is beginning or end, for partitions without a committed offset; "
            "`odradek group reset-offsets GROUP` moves one"
        )
    printer: Printer = _value if form is None else printer_of(form)
    if options().as_json:
        printer = json_of_record
    wanted = Wanted(topics, numbers, where, exit_at_end, committed)
    session_ms = int(of_client.get("session.timeout.ms", "45000"))

    async def ask(cluster: Cluster) -> None:
        run = Run(cluster, wanted, (printer, count))
        try:
            if group is None:
                await run.alone()
            else:
                await run.as_member(group, Millis(session_ms))
        except CorruptRecords as error:
            raise Failed(str(error), CORRUPT_NEXT) from None

    output()
    talk(ask, endless=True)


def _value(found: Found) -> bytes:
    return (found.record.value or b"") + b"\n"


class Run:
    """One run of the command."""

    def __init__(
        self, cluster: Cluster, wanted: Wanted, printing: tuple[Printer, int | None]
    ) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._printer, self._left = printing
        self._out = output()
        self._tells = Telling(cluster)

    async def _topics(self) -> list[str]:
        found = await topics_named(self._cluster, self._wanted.topics)
        if self._wanted.numbers and len(found) > 1:
            raise Failed("-p names partitions of one topic", code=MISUSED)
        return [topic.name or "" for topic in found]

    async def alone(self) -> None:
        """From where the options say."""
        if self._left == 0:
            return
        partitions: list[TopicPartition] = []
        for name in await self._topics():
            every = await admin.partitions_of(self._cluster, name)
            partitions += chosen(every, self._wanted.numbers)
        positions = await positions_at(self._cluster, partitions, self._wanted.where)
        reader = Reader(self._cluster, positions, committed=self._wanted.committed)
        async with beside(self._tells.while_reading(reader)):
            while not self._is_done(reader):
                self._print(reader, await reader.poll())

    async def as_member(self, group: str, session_timeout: Millis) -> None:
        """Through all generations; what was printed is committed."""
        if self._left == 0:
            return
        topics = await self._topics()
        member = Member(self._cluster, group, topics, session_timeout=session_timeout)
        reset = LATEST if self._wanted.where in END else EARLIEST
        try:
            while True:
                assigned = await member.join()
                positions = await starting_positions(self._cluster, group, assigned, reset)
                reader = Reader(self._cluster, positions, committed=self._wanted.committed)
                async with beside(self._tells.while_reading(reader)):
                    while await member.still_belongs():
                        self._print(reader, await reader.poll())
                        await member.commit(reader.positions)
                        if self._is_done(reader):
                            return
        finally:
            await member.leave()

    def _print(self, reader: Reader, records: Sequence[Found]) -> None:
        """One write for all; where too many have come, the rest is not counted as read."""
        some = records if self._left is None else records[: self._left]
        self._out.write(b"".join(map(self._printer, some)))
        self._out.flush()
        for found in reversed(records[len(some) :]):
            reader.positions[found.partition] = found.record.offset
        if self._left is not None:
            self._left -= len(some)

    def _is_done(self, reader: Reader) -> bool:
        if self._left == 0:
            return True
        if not self._wanted.exit_at_end:
            return False
        rest = [it for it, at in reader.positions.items() if at < reader.ends.get(it, 1 << 62)]
        if rest:
            self._tells.refuse_the_rest(reader, rest)
        return not rest


async def positions_at(
    cluster: Cluster, partitions: list[TopicPartition], where: str
) -> dict[TopicPartition, int]:
    """Where reading begins, as `--offset` says it."""
    if where in BEGINNING:
        return await offsets_or_why(cluster, partitions, EARLIEST)
    ends = await offsets_or_why(cluster, partitions, LATEST)
    if where in END:
        return ends
    if where.startswith("@"):
        found = await offsets_or_why(cluster, partitions, millis_of(where[1:]))
        return {it: ends[it] if offset < 0 else offset for it, offset in found.items()}
    try:
        offset = int(where)
    except ValueError:
        text = f"--offset {where[:40]!r} is no offset"
        raise Failed(text, "beginning, end, 42, -10, @2026-01-31T12:00", MISUSED) from None
    starts = await offsets_or_why(cluster, partitions, EARLIEST)
    if offset < 0:
        return {it: max(ends[it] + offset, starts[it]) for it in partitions}
    for it in partitions:
        if not starts[it] <= offset <= ends[it]:
            is_empty = starts[it] == ends[it]
            range_ = f"the offsets {starts[it]} to {ends[it] - 1}"
            what = f"no records; its next has offset {ends[it]}" if is_empty else range_
            text = f"{it} holds {what}: {offset} is not in it"
            raise Failed(text, "odradek offsets list " + it.topic)
    return dict.fromkeys(partitions, offset)
