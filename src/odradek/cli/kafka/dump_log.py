"""`kafka-dump-log`: the contents of a log's files, offline."""

from pathlib import Path
from typing import Final

import click

from odradek.cli.kafka.script import Script
from odradek.cli.records.dump_log import is_known, rows
from odradek.cli.words.record_texts import DECODERS, Decoder, plain_texts
from odradek.model.errors import CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.ports import File
from odradek.records.batch import BatchHeader, TimestampType, read_header
from odradek.records.record import Record, read_records
from odradek.runtime.doors.disk import SystemDisk
from odradek.storage.errors import CorruptFile
from odradek.storage.files import names
from odradek.storage.segments.scan import behind, walk_batches

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


@click.command("kafka-dump-log", cls=Script)
@click.option("--files", required=True, metavar="FILE,...")
@click.option("--print-data-log", is_flag=True, help="The records with their contents.")
@click.option("--deep-iteration", is_flag=True, help="The records.")
@click.option(
    "--transaction-log-decoder",
    "decoded",
    flag_value=TRANSACTION_STATE_TOPIC,
    help="The records of __transaction_state, read.",
)
@click.option(
    "--offsets-decoder",
    "decoded",
    flag_value=GROUP_METADATA_TOPIC,
    help="The records of __consumer_offsets, read.",
)
@click.option("--verify-index-only", is_flag=True, help="Taken and ignored.")
@click.option("--index-sanity-check", is_flag=True, help="Taken and ignored.")
def command(
    *,
    files: str,
    print_data_log: bool,
    deep_iteration: bool,
    decoded: str | None,
    verify_index_only: bool,
    index_sanity_check: bool,
) -> None:
    """Kafka's script that dumps the files of a log."""
    del verify_index_only, index_sanity_check
    decoder: Decoder | None = DECODERS.get(decoded or "")
    if decoder is None and print_data_log:
        decoder = plain_texts
    for text in files.split(","):
        path = Path(text)
        click.echo(f"Dumping {path}")
        if not path.exists():
            raise click.UsageError(f"{path}: no such file")
        if not is_known(path.name):
            click.echo(f"Ignoring unknown file {path}", err=True)
            continue
        try:
            _dump(path, decoder, deep=decoder is not None or deep_iteration)
        except CorruptFile as error:
            click.echo(
                f"Found {path.stat().st_size - error.position} invalid bytes at the end of "
                f"{path.name}"
            )
            click.echo(f"odradek: {path} at {error.position}: {error.reason}", err=True)
            raise SystemExit(1) from None


def _dump(path: Path, decoder: Decoder | None, *, deep: bool) -> None:
    segment = names.parse_segment_file(path.name)
    if segment is None or segment.suffix != names.LOG:
        found = False
        for row in rows(path, deep=False):
            found = True
            click.echo(" ".join(f"{key}: {value}" for key, value in row.items()))
        if not found:
            click.echo(f"{path} is empty.")
        return
    click.echo(f"Log starting offset: {segment.base_offset}")
    file, size = SystemDisk(str(path.parent)).open(path.name), path.stat().st_size
    position = 0
    while position < size:
        try:
            for at, header, batch in walk_batches(file, str(path), position, size):
                click.echo(_batch(header, at))
                position = at + header.size
                if deep:
                    _show_records(header, batch, decoder)
        except CorruptFile as error:
            position = _behind_corrupt(file, error, size)


def _behind_corrupt(file: File, error: CorruptFile, size: int) -> int:
    """It is shown with its header alone; raises where its length leads nowhere."""
    position = behind(file, error.path, error.position, size)
    if position is None:
        raise error
    header = read_header(file.read(BATCH_HEADER_BYTES, error.position), 0)
    click.echo(_batch(header, error.position, is_valid=False))
    return position


def _show_records(header: BatchHeader, batch: memoryview, decoder: Decoder | None) -> None:
    try:
        for number, record in enumerate(read_records(batch, header)):
            click.echo(_record(header, record, number, decoder))
    except CorruptBatch as error:
        click.echo(
            f"odradek: offsets {header.base_offset} to {header.last_offset}: {error}", err=True
        )


def _batch(it: BatchHeader, position: int, *, is_valid: bool = True) -> str:
    time = _time(it)
    last = it.base_sequence + it.record_count - 1 if it.base_sequence >= 0 else it.base_sequence
    return (
        f"baseOffset: {it.base_offset} lastOffset: {it.last_offset} count: {it.record_count} "
        f"baseSequence: {it.base_sequence} lastSequence: {last} producerId: {it.producer_id} "
        f"producerEpoch: {it.producer_epoch} partitionLeaderEpoch: {it.leader_epoch} "
        f"isTransactional: {_word(it.is_transactional)} isControl: {_word(it.is_control)} "
        f"deleteHorizonMs: OptionalLong.empty position: {position} "
        f"{time}: {it.max_timestamp} size: {it.size} magic: 2 "
        f"compresscodec: {CODECS[it.codec]} crc: {it.crc} isvalid: {_word(is_valid)}"
    )


def _record(header: BatchHeader, it: Record, number: int, decoder: Decoder | None) -> str:
    time = _time(header)
    sequence = header.base_sequence + number if header.base_sequence >= 0 else -1
    keys = ",".join(name.decode("utf-8", "replace") for name, _ in it.headers)
    text = (
        f"| offset: {it.offset} {time}: {it.timestamp} keySize: {_size(it.key)} "
        f"valueSize: {_size(it.value)} sequence: {sequence} headerKeys: [{keys}]"
    )
    if decoder is not None and not header.is_control:
        key, value = decoder(it)
        text += "" if key is None else f" key: {key}"
        text += "" if value is None else f" payload: {value}"
    return text


def _time(header: BatchHeader) -> str:
    is_append = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return "LogAppendTime" if is_append else "CreateTime"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _word(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
