"""`kafka-console-consumer`: each record of a topic becomes a line of standard output."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from odradek.cli.kafka.script import Misused, Script
from odradek.cli.reaching.naming import topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.records.consume import Printer, Run, Wanted
from odradek.cli.showing.printing import output
from odradek.cli.words.escapes import unescaped
from odradek.cli.words.failing import Failed
from odradek.cli.words.options import options, pairs
from odradek.client.cluster import Cluster
from odradek.client.records.reader import Found, Reader
from odradek.model.units import Millis

DEFAULTS: Final = {
    "print.timestamp": "false",
    "print.partition": "false",
    "print.offset": "false",
    "print.delivery": "false",
    "print.epoch": "false",
    "print.headers": "false",
    "print.key": "false",
    "print.value": "true",
    "key.separator": r"\t",
    "line.separator": r"\n",
    "headers.separator": ",",
    "null.literal": "null",
}
FORMATTERS: Final = ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")


@click.command("kafka-console-consumer", cls=Script)
@click.option("--topic")
@click.option("--include", "--whitelist", metavar="PATTERN", help="Topics like 'orders.*'.")
@click.option("--partition", type=int)
@click.option("--offset", help="earliest, latest or a number; with --partition.")
@click.option("--from-beginning", is_flag=True)
@click.option("--max-messages", type=int)
@click.option("--timeout-ms", type=int, help="End when nothing has come for so long.")
@click.option("--group")
@click.option("--isolation-level", type=click.Choice(["read_uncommitted", "read_committed"]))
@click.option("--formatter", default=FORMATTERS[0])
@click.option("--property", "--formatter-property", "properties", multiple=True)
@click.option("--consumer-property", "--command-property", "settings", multiple=True)
@click.option("--skip-message-on-error", is_flag=True, help="Taken and ignored.")
def command(**said: Any) -> None:
    """Kafka's script that prints records.

    Without --from-beginning only records that come from now on are printed.
    """
    options().settings |= pairs(said["settings"])
    group = said["group"] or options().settings.get("group.id")
    if said["formatter"].rpartition(".")[2] not in FORMATTERS:
        raise Misused(f"--formatter {said['formatter']}: there are no formatters of Java here")
    if (said["topic"] is None) == (said["include"] is None):
        raise Misused("Exactly one of --include/--topic is required.")
    if said["offset"] is not None and said["partition"] is None:
        raise Misused("The partition is required when offset is specified.")
    where = "earliest" if said["from_beginning"] else said["offset"] or "latest"
    numbers = () if said["partition"] is None else (said["partition"],)
    is_committed = said["isolation_level"] == "read_committed"
    wanted = Wanted((said["topic"],), numbers, where, exit_at_end=False, committed=is_committed)
    counter = Counter(printer_of(pairs(said["properties"])))

    async def consume(cluster: Cluster) -> None:
        nonlocal wanted
        if said["include"] is not None:
            wanted = wanted._replace(topics=await _like(cluster, said["include"]))
        run = TimedRun(cluster, wanted, (counter, said["max_messages"]))
        run.idle_max = said["timeout_ms"]
        if group is None:
            await run.alone()
        else:
            await run.as_member(group, Millis(45_000))

    output()
    try:
        talk(consume, endless=True)
    finally:
        click.echo(f"Processed a total of {counter.count} messages", err=True)


async def _like(cluster: Cluster, pattern: str) -> tuple[str, ...]:
    import re

    fits = re.compile(pattern.replace(",", "|"))
    found = [it.name or "" for it in await topics_named(cluster, ())]
    names = tuple(name for name in found if fits.fullmatch(name))
    if not names:
        raise Failed(f"no topic matches {pattern!r}", "odradek topic list")
    return names


class Counter:
    """Prints, and counts."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self.count = 0

    def __call__(self, found: Found) -> bytes:
        """One more."""
        self.count += 1
        return self._printer(found)


class TimedRun(Run):
    """Ends when nothing has come for a while, if that is wanted."""

    idle_max: int | None = None
    _last: Millis | None = None
    _printed = 0

    def _is_done(self, reader: Reader) -> bool:
        if super()._is_done(reader):
            return True
        now = self._cluster.world.clock.monotonic()
        at = sum(reader.positions.values())
        if self._last is None or at != self._printed:
            self._last, self._printed = now, at
        return self.idle_max is not None and now - self._last >= self.idle_max


def printer_of(said: Mapping[str, str]) -> Callable[[Found], bytes]:
    """Kafka's DefaultMessageFormatter."""
    for name in said:
        if name not in DEFAULTS and not name.endswith(".deserializer"):
            known = ", ".join(DEFAULTS)
            raise Failed(f"--property {name} is not known here; known are {known}")
    props = {**DEFAULTS, **said}
    shown = {name[6:] for name in DEFAULTS if name.startswith("print.") and props[name] == "true"}
    key_separator = unescaped(props["key.separator"], "key.separator")
    line_separator = unescaped(props["line.separator"], "line.separator")
    header_separator = unescaped(props["headers.separator"], "headers.separator")
    null = props["null.literal"].encode()

    def text(data: bytes | None) -> bytes:
        return null if data is None else data

    def write(found: Found) -> bytes:
        record = found.record
        parts = []
        if "timestamp" in shown:
            parts.append(b"CreateTime:%d" % record.timestamp)
        if "partition" in shown:
            parts.append(b"Partition:%d" % found.partition.partition)
        if "offset" in shown:
            parts.append(b"Offset:%d" % record.offset)
        if "headers" in shown:
            rows = [name + b":" + text(value) for name, value in record.headers]
            parts.append(header_separator.join(rows) or b"NO_HEADERS")
        if "key" in shown:
            parts.append(text(record.key))
        if "value" in shown:
            parts.append(text(record.value))
        return key_separator.join(parts) + line_separator

    return write
