"""The name under which Spark finds the source: it looks in top-level modules called `pyspark_*`."""

from odradek.pipelines.source.data_source import DefaultSource

__all__ = ["DefaultSource"]
