"""What each release leaves behind: tables and checkpoints, kept in `releases/`, for later ones.

`PYTHONPATH=src .venv-spark/bin/python -m tests.pipelines.upgrades` adds those of this version; what
is kept of a release that is out is never written again.
"""

import json
import shutil
import sqlite3
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

import fastavro

from odradek import __version__
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.checkpoint import FILE as CHECKPOINT
from odradek.pipelines.moving.archiving.checkpoint import Checkpoint
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.positions import Positions, TopicPositions
from odradek.pipelines.source.options import SourceOptions
from tests.pipelines.moving.archives import reading
from tests.pipelines.tables.lake import CLUSTER, FORMATS, SCHEMA, TOPIC, TOPIC_ID, Lake, new_range

KEPT: Final = Path(__file__).parent / "releases"
RELEASES: Final = sorted(it.name.removesuffix(".tar.gz") for it in KEPT.iterdir())
ROWS_KEPT: Final = 40
RECORDS: Final = 25  # that the stream of the kept checkpoint has read
OLD_PLACE: Final = "place"  # says where the table lay, which stands in all of Iceberg's files


def keep_table(name: str, place: Path) -> None:
    """A table of two commits."""
    opened = OpenTable(f"{name}:{place}", {}, ROWS)
    begins = Positions(CLUSTER, {TOPIC: TopicPositions(TOPIC_ID, {0: 0}, {0: 7})})
    opened.create(SCHEMA, ("day(timestamp)",), begins, "")
    lake = Lake(f"{name}:{place}")
    middle = lake.append(lake.table.load(), new_range(0, 10))
    lake.append(middle, new_range(10, ROWS_KEPT))
    (place / OLD_PLACE).write_text(str(place), encoding="utf-8")


def unpacked(release: str, name: str, place: Path) -> None:
    """One folder of what is kept of a release."""
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        with tarfile.open(KEPT / f"{release}.tar.gz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since 3.11.4
            archive.extractall(folder)
        shutil.move(Path(folder) / name, place)


def moved(release: str, name: str, place: Path) -> str:
    """A table that can be opened; Iceberg writes absolute paths into everything."""
    unpacked(release, name, place)
    if name == "iceberg":
        old = (place / OLD_PLACE).read_text(encoding="utf-8")
        for file in place.rglob("metadata/*"):
            if file.suffix == ".avro":
                _move_avro(file, old, str(place))
            elif file.is_file():
                text = file.read_text(encoding="utf-8")
                file.write_text(text.replace(old, str(place)), encoding="utf-8")
        with sqlite3.connect(place / "catalog.db") as catalog:
            columns = "metadata_location", "previous_metadata_location"
            for it in columns:
                catalog.execute(
                    f"update iceberg_tables set {it} = replace({it}, ?, ?)", (old, str(place))
                )
            old_name = Path(old).name
            catalog.execute(
                "update iceberg_tables set table_name = replace(table_name, ?, ?)",
                (old_name, place.name),
            )
        catalog.close()
    return f"{name}:{place}"


def _move_avro(file: Path, old: str, new: str) -> None:
    with file.open("rb") as content:
        reader = fastavro.reader(content)
        schema = reader.writer_schema
        rows = [_replaced(row, old, new) for row in reader]
        metadata = {k: v for k, v in reader.metadata.items() if not k.startswith("avro.")}
    assert schema is not None
    with file.open("wb") as content:
        fastavro.writer(content, schema, rows, metadata=metadata)


def _replaced(value: Any, old: str, new: str) -> Any:
    match value:
        case str():
            return value.replace(old, new)
        case dict():
            return {key: _replaced(it, old, new) for key, it in value.items()}
        case list():
            return [_replaced(it, old, new) for it in value]
    return value


def keep_stream(spark: Any, options: dict[str, str], place: Path) -> None:
    """Spark's checkpoint of a stream that has read everything."""
    rows = spark.readStream.format("odradek").options(**options).load()
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(place))
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
    for file in place.rglob(".*.crc"):
        file.unlink()


def stream_of(release: str, place: Path, now: Positions) -> None:
    """A checkpoint as if these positions' cluster and topic had been read."""
    unpacked(release, "stream", place)
    (old,) = {_offsets(it) for it in place.glob("offsets/*")}
    then = Positions.from_json(json.loads(old))
    ((name, topic),) = then.topics.items()
    ((name_now, topic_now),) = now.topics.items()
    for file in [it for it in place.rglob("*") if it.is_file()]:
        text = file.read_text(encoding="utf-8")
        for before, after in (
            (then.cluster_id, now.cluster_id),
            (topic.topic_id, topic_now.topic_id),
            (name, name_now),
        ):
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")


def keep_archive(spark: Any, source: SourceOptions, place: Path) -> None:
    """The table and the checkpoint of an archive that has read everything."""
    table = f"delta:{place}/table"
    checkpoint = Checkpoint(place / "checkpoint", table)
    archive(spark, Archive(source, table), Once(), on_batch=checkpoint.keep)
    (place / OLD_PLACE).write_text(str(place), encoding="utf-8")


def archive_of_release(release: str, place: Path, now: Positions) -> tuple[str, Checkpoint]:
    """An archive as if these positions' cluster and topic had been read."""
    unpacked(release, "archive", place)
    text = (place / "checkpoint" / CHECKPOINT).read_text(encoding="utf-8")
    then = Positions.from_json(json.loads(text)["positions"])
    ((name, topic),) = then.topics.items()
    ((name_now, topic_now),) = now.topics.items()
    moves = (
        ((place / OLD_PLACE).read_text(encoding="utf-8"), str(place)),
        (then.cluster_id, now.cluster_id),
        (topic.topic_id, topic_now.topic_id),
        (name, name_now),
    )
    for file in [it for it in place.rglob("*") if it.is_file()]:
        if file.suffix == ".json":
            text = file.read_text(encoding="utf-8")
            for before, after in moves:
                text = text.replace(before, after)
            file.write_text(text, encoding="utf-8")
        file.rename(file.with_name(file.name.replace(topic.topic_id, topic_now.topic_id)))
    table = f"delta:{place}/table"
    return table, Checkpoint(place / "checkpoint", table)


def _offsets(file: Path) -> str:
    return file.read_text(encoding="utf-8").splitlines()[-1]


def main() -> None:
    """Writes `releases/VERSION.tar.gz`."""
    from odradek.pipelines import session
    from tests.compat.broker_process import OdradekBroker
    from tests.pipelines.topics import Topics

    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in FORMATS:
            keep_table(name, place / name)
        broker = OdradekBroker(place / "broker")
        broker.start()
        try:
            topics = Topics(broker.bootstrap, "sample")
            topic = topics.make()
            topics.fill_numbers(topic, RECORDS)
            spark = session("local[1]", conf={"spark.local.dir": folder})
            options = topics.options(topic, startingOffsets="earliest")
            keep_stream(spark, options, place / "stream")
            keep_archive(spark, reading(broker.bootstrap, topic), place / "archive")
            spark.stop()
        finally:
            broker.stop()
        with tarfile.open(KEPT / f"{__version__}.tar.gz", "w:gz") as archive:
            for name in (*FORMATS, "stream", "archive"):
                archive.add(place / name, name)


if __name__ == "__main__":
    main()
