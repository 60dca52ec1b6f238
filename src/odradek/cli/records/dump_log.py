"""`odradek dump-log`: what lies in the files of a log, read offline.

Every file is shown by its own form, told by its name. A damaged batch is named by the
position at which it begins, its bytes and the reason; the dump goes on behind it, if its length
leads to another batch or to the end. A damaged index, snapshot or checkpoint is read no further.
Nothing is written, so it is safe beside a running broker; what the broker has in memory only is
not shown.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from odradek.cli.showing.printing import json_text, output
from odradek.cli.words.failing import FAILED, Failed
from odradek.cli.words.grammar import LocalVerb
from odradek.cli.words.options import options
from odradek.cli.words.record_texts import DECODERS
from odradek.model.errors import CorruptBatch
from odradek.ports import File
from odradek.records.control import read_end_marker
from odradek.records.record import Record, read_records
from odradek.storage.errors import CorruptFile
from odradek.storage.files import checkpoints, names
from odradek.storage.logs import producer_snapshot
from odradek.storage.segments import offset_index, time_index, transaction_index
from odradek.storage.segments.scan import behind, walk_batches

Row = dict[str, Any]
Reader = Callable[[Record], tuple[Any, Any]]
"""Key and value, for people."""
CHECKPOINTS: Final = frozenset(
    {
        names.EPOCH_CHECKPOINT,
        names.RECOVERY_POINTS,
        names.HIGH_WATERMARKS,
        names.LOG_START_OFFSETS,
        names.CLEANER_OFFSETS,
    }
)


@click.command("dump-log", cls=LocalVerb)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--deep", is_flag=True, help="Show every record, not only the batches.")
def command(paths: tuple[Path, ...], *, deep: bool) -> None:
    """Show the contents of log files, and where they are corrupt.

    PATHS are files, or folders of partitions: segments, indexes, snapshots and checkpoints are
    read, with --deep also what records of groups and transactions say. Exit code 1 if any is
    corrupt.
    """
    is_corrupt, as_json = False, options().as_json
    output()
    for path in paths:
        files = log_files(path)
        if not files:
            text = f"{path}: no segment, index, snapshot or checkpoint of a log"
            raise Failed(text, "name a partition's folder, or files in it")
        for file in files:
            try:
                for row in rows(file, deep=deep):
                    is_corrupt = is_corrupt or "corrupt_at" in row
                    show({"file": str(file), **row}, as_json=as_json)
            except CorruptFile as error:
                is_corrupt = True
                found = corrupt(error, file.stat().st_size - error.position)
                show({"file": str(file), **found}, as_json=as_json)
    sys.exit(FAILED if is_corrupt else 0)


def log_files(path: Path) -> list[Path]:
    """Those of the folder, or the file itself, that a log has by their names."""
    every = sorted(path.iterdir()) if path.is_dir() else [path]
    return [it for it in every if it.is_file() and is_known(it.name)]


def is_known(name: str) -> bool:
    """Whether `rows` can read a file of this name."""
    return names.parse_segment_file(name) is not None or name in CHECKPOINTS


def show(row: Row, *, as_json: bool) -> None:
    """One line."""
    if as_json:
        click.echo(json.dumps(row))
    else:
        path = Path(row.pop("file"))
        name = path if "corrupt_at" in row else path.name  # of many partitions this is looked for
        click.echo(f"{name}: " + " ".join(f"{key}={value}" for key, value in row.items()))


def rows(path: Path, *, deep: bool) -> Iterator[Row]:
    """The entries of one file; a file of no known name has none."""
    from odradek.runtime.doors.disk import SystemDisk

    segment = names.parse_segment_file(path.name)
    if segment is not None and segment.suffix == names.LOG:
        file = SystemDisk(str(path.parent)).open(path.name)
        yield from batches(file, str(path), path.stat().st_size, deep=deep)
    elif segment is not None:
        yield from entries(path, segment.suffix, segment.base_offset)
    elif path.name == names.EPOCH_CHECKPOINT:
        for epoch in checkpoints.decode_epochs(path.read_bytes(), str(path)):
            yield epoch._asdict()
    else:
        found = checkpoints.decode_offsets(path.read_bytes(), str(path))
        for (topic, partition), offset in found.items():
            yield {"topic": topic, "partition": partition, "offset": offset}


def batches(file: File, path: str, size: int, *, deep: bool) -> Iterator[Row]:
    """Each batch, checked by its CRC, and its records if asked; also those behind a corrupt one."""
    position: int | None = 0
    while position is not None and position < size:
        try:
            yield from _whole_batches(file, path, (position, size), deep=deep)
            position = size
        except CorruptFile as error:
            position = behind(file, path, error.position, size)
            end = size if position is None else position
            yield corrupt(error, end - error.position)


def corrupt(error: CorruptFile, size: int) -> Row:
    """Bytes that are not as they were written; the rest of a file where it is unknown how many."""
    return {"corrupt_at": error.position, "bytes": size, "reason": error.reason}


def _whole_batches(file: File, path: str, where: tuple[int, int], *, deep: bool) -> Iterator[Row]:
    end, read = 0, _reader(path)
    for position, header, batch in walk_batches(file, path, *where):
        if header.base_offset < end:
            reason = f"offset {header.base_offset} does not follow {end}"
            raise CorruptFile(path, position, reason)
        end = header.next_offset
        yield {
            "position": position,
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "count": header.record_count,
            "bytes": header.size,
            "leader_epoch": header.leader_epoch,
            "max_timestamp": header.max_timestamp,
            "codec": header.codec,
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "transactional": header.is_transactional,
            "control": header.is_control,
            "crc": header.crc,
        }
        if not deep:
            continue
        try:
            yield from map(
                partial(_record, read=read, is_control=header.is_control),
                read_records(batch, header),
            )
        except CorruptBatch as error:
            raise CorruptFile(path, position, str(error)) from None


def _record(record: Record, *, read: Reader, is_control: bool) -> Row:
    row: Row = {"offset": record.offset, "timestamp": record.timestamp}
    if is_control:
        marker = read_end_marker(record)
        row["marker"] = None if marker is None else "commit" if marker.committed else "abort"
        return row
    row["key"], row["value"] = read(record)
    row["headers"] = [
        {"name": key.decode("utf-8", "replace"), "value": json_text(value)}
        for key, value in record.headers
    ]
    return row


def _reader(path: str) -> Reader:
    """Records of internal topics are read; the folder names its partition."""
    topic = Path(path).absolute().parent.name.rpartition("-")[0]
    return DECODERS.get(topic, _plain)


def _plain(it: Record) -> tuple[Any, Any]:
    return json_text(it.key), json_text(it.value)


def entries(path: Path, suffix: str, base_offset: int) -> Iterator[Row]:
    """The entries of a companion of a segment."""
    data, name = path.read_bytes(), str(path)
    if suffix == names.INDEX:
        relatives, positions = offset_index.decode(data, name)
        for relative, position in zip(relatives, positions, strict=True):
            yield {"offset": base_offset + relative, "position": position}
    elif suffix == names.TIME_INDEX:
        for entry in time_index.decode(data, name) if data else ():
            yield {"timestamp": entry.timestamp, "offset": base_offset + entry.relative}
    elif suffix == names.TXN_INDEX:
        for aborted in transaction_index.decode(data, name):
            yield aborted._asdict()
    else:
        for producer in producer_snapshot.decode(data, name).values():
            row = producer._asdict()
            row["batches"] = [batch._asdict() for batch in producer.batches]
            yield row
