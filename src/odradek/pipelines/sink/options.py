"""The options and columns of the sink: those of Spark's "kafka" sink, with its refusals.

A row has `value`, and `key`, `headers`, `topic` and `partition` where they are given. The option
`topic` wins over the column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from odradek.model.names import topic_name_fault
from odradek.model.units import MINUTE, Millis
from odradek.pipelines.client_options import ClientOptions, read_client
from odradek.pipelines.encoding.batches import BATCH_BYTES
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import GivenOptions
from odradek.records.compression import Codec

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "topic": "same: wins over the column",
        "topics": "ours: with exactlyOnce, those that the column may name, with commas between",
        "includeHeaders": "same",
        "exactlyOnce": "ours: each micro-batch in one transaction, by `foreachBatch`",
        "checkpointLocation": "same: of the stream that writes",
        "path": "no effect: Spark gives it to every sink",
    }
)
"""And how they are beside those of Spark's sink."""
TRANSACTION_TIMEOUT: Final = Millis(15 * MINUTE)
"""As long as brokers allow by default: a batch that takes longer is aborted."""
BYTES: Final = ("string", "binary")
HEADERS: Final = "array<struct<key:string,value:binary>>"
TYPES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "value": BYTES,
        "key": BYTES,
        "headers": (HEADERS,),
        "topic": ("string",),
        "partition": ("int",),
    }
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """All that a writer needs to know; it can be pickled and is the same in every task."""

    client: ClientOptions
    topic: str | None = None
    topics: tuple[str, ...] = ()  # that rows may name, where each batch is a transaction
    headers: bool = False
    codec: Codec = Codec.NONE
    batch_bytes: int = BATCH_BYTES
    transactional_id: str | None = None  # where each batch is a transaction
    transaction_timeout_ms: Millis = TRANSACTION_TIMEOUT


def parse(raw: Mapping[str, str]) -> SinkOptions:
    """The options as Spark hands them over; InvalidOption is the first that is wrong."""
    given = GivenOptions(raw, OPTIONS)
    given.refuse_unknown()
    topic, topics = given.text("topic"), _topics(given)
    name = (given.kafka("compression.type") or "none").strip().upper()
    if name not in Codec.__members__:
        known = ", ".join(it.lower() for it in Codec.__members__)
        raise InvalidOption(
            f"option 'kafka.compression.type' must be one of {known}, not {name.lower()!r}"
        )
    return SinkOptions(
        read_client(given),
        topic,
        topics,
        headers=given.boolean("includeHeaders", default=False),
        codec=Codec[name],
        batch_bytes=given.kafka_number("batch.size", BATCH_BYTES, least=1),
        transactional_id=_transactional_id(given, topic, topics),
        transaction_timeout_ms=Millis(
            given.kafka_number("transaction.timeout.ms", TRANSACTION_TIMEOUT, least=1)
        ),
    )


def _topics(given: GivenOptions) -> tuple[str, ...]:
    """Those of the option `topics`."""
    text = given.text("topics")
    names = () if text is None else tuple(dict.fromkeys(it.strip() for it in text.split(",")))
    for option, name in (("topic", given.text("topic")), *(("topics", it) for it in names)):
        if name is not None and (fault := topic_name_fault(name)) is not None:
            raise InvalidOption(f"option {option!r}: {fault}: {name[:80]!r}")
    return names


def _transactional_id(
    given: GivenOptions, topic: str | None, topics: tuple[str, ...]
) -> str | None:
    """With exactlyOnce it must be there, and without it must not be."""
    name = given.kafka("transactional.id")
    if not given.boolean("exactlyOnce", default=False):
        for option, value in (("kafka.transactional.id", name), ("topics", topics or None)):
            if value is not None:
                raise InvalidOption(
                    f"option {option!r}: without exactlyOnce=true the sink is in no transaction"
                )
        return None
    if not name:
        raise InvalidOption(
            "exactlyOnce needs the option 'kafka.transactional.id': a name that this query alone "
            "has, and keeps"
        )
    if (topic is None) is not bool(topics):
        raise InvalidOption(
            "exactlyOnce needs either the option 'topic', where one topic has all rows, or "
            "'topics', which rows name in their column 'topic'"
        )
    return name


def refuse_exactly_once(options: SinkOptions) -> None:
    """InvalidOption where Spark calls no code of the driver before its tasks."""
    if options.transactional_id is not None:
        raise InvalidOption(
            "exactlyOnce is not for format('odradek'), where no transaction can begin before the "
            "tasks: use foreachBatch with odradek.pipelines.exactly_once, or the "
            "command odradek replay --from TABLE --to TOPIC --exactly-once NAME"
        )


def check_columns(schema: Any, options: SinkOptions) -> None:
    """InvalidOption where Spark's "kafka" sink refuses the schema, too."""
    columns = {it.name: it.dataType.simpleString() for it in schema.fields}
    if "value" not in columns:
        raise InvalidOption("the rows have no column 'value', which the sink needs")
    if options.topic is None and "topic" not in columns:
        raise InvalidOption("give the topic as option 'topic' or as a column 'topic'")
    for name, allowed in TYPES.items():
        if name in columns and columns[name] not in allowed:
            raise InvalidOption(
                f"column {name!r} is {columns[name]}, it must be {' or '.join(allowed)}"
            )
