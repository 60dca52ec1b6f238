"""What Spark calls for `format("odradek")`: it reads the options and gives a reader or writer."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from odradek.pipelines.columns import COLUMNS, SPARK_TYPES, chosen, spark_schema
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import GivenOptions
from odradek.pipelines.sink.options import SinkOptions, refuse_exactly_once
from odradek.pipelines.sink.options import parse as sink_options
from odradek.pipelines.sink.writer import TopicStreamWriter, TopicWriter
from odradek.pipelines.source.batch import reader
from odradek.pipelines.source.options import OPTIONS, Mode, parse
from odradek.pipelines.source.stream import OdradekStreamReader
from odradek.pipelines.workers import freeze_once


class DefaultSource(DataSource):
    """Topics of a Kafka cluster, ours or another."""

    @classmethod
    def name(cls) -> str:
        """As in `spark.read.format("odradek")`."""
        return "odradek"

    def schema(self) -> str:
        """Seven columns, and headers where they are asked for."""
        given = GivenOptions(self._given(), OPTIONS)
        freeze_once()
        return spark_schema(chosen(headers=given.boolean("includeHeaders", default=False)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        found: DataSourceReader = reader(parse(self._given(), Mode.BATCH), columns_of(schema))
        return found

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """For `spark.readStream`."""
        return OdradekStreamReader(parse(self._given(), Mode.STREAM), columns_of(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        """For `df.write`; topics are only added to."""
        if overwrite:
            raise InvalidOption("a topic cannot be overwritten: use mode 'append'")
        freeze_once()
        return TopicWriter(self._sink(), schema)

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001
    ) -> DataSourceStreamWriter:
        """For `df.writeStream`, in the modes that Spark's sink takes."""
        del overwrite
        return TopicStreamWriter(self._sink(), schema)

    def _sink(self) -> SinkOptions:
        found = sink_options(self._given())
        refuse_exactly_once(found)
        return found

    def _given(self) -> Mapping[str, str]:
        return dict(self.options)


def columns_of(schema: StructType) -> tuple[str, ...]:
    """The columns that a schema chooses; InvalidOption for one that the source has not."""
    names = []
    for column in schema.fields:
        if column.name not in COLUMNS:
            raise InvalidOption(
                f"the schema names column {column.name!r}; there are: {', '.join(COLUMNS)}"
            )
        told: Any = column.dataType.simpleString()
        if told != _plain(SPARK_TYPES[column.name]):
            raise InvalidOption(
                f"the schema says that column {column.name!r} is {told}, "
                f"it is {_plain(SPARK_TYPES[column.name])}"
            )
        names.append(column.name)
    return tuple(names)


def _plain(text: str) -> str:
    """As `simpleString` writes a type."""
    return text.replace(" ", "").replace("long", "bigint")
