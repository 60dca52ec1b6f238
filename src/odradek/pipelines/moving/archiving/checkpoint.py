"""A directory that says where an archive was: for people and programs, not for the archive.

The table alone decides what comes next, so the directory may be lost, and one that lags behind its
table is brought up to date. It is refused where it shows a mistake: it is another table's, or the
topic has been deleted and created again since.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.reports import BatchReport
from odradek.pipelines.positions import Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions

FILE: Final = "odradek-archive.json"
VERSION: Final = 1


class Checkpoint:
    """The directory of one archive."""

    def __init__(self, folder: Path, table: str) -> None:
        self._path = folder / FILE
        self._table = table

    def check(self, source: SourceOptions) -> None:
        """Refuses a directory of another table, cluster or topic, or of a newer release."""
        kept = self._read()
        if kept is None:
            return
        if kept["table"] != self._table:
            raise PipelineError(
                f"the checkpoint {self._path.parent} is of table {kept['table']}, not of "
                f"{self._table}"
            )
        positions = Positions.from_json(kept["positions"])
        now = SourceOffsets(source).latest()
        if positions.cluster_id and now.cluster_id != positions.cluster_id:
            raise PipelineError(
                f"the checkpoint {self._path.parent} is of cluster {positions.cluster_id}, the "
                f"brokers are of {now.cluster_id}"
            )
        for name, topic in now.topics.items():
            known = positions.topics.get(name)
            if known is not None and known.topic_id != topic.topic_id:
                raise PipelineError(
                    f"topic {name!r} was deleted and created again since the checkpoint "
                    f"{self._path.parent} was written"
                )

    def keep(self, report: BatchReport) -> None:
        """Notes where the table ends."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "version": VERSION,
            "table": self._table,
            "table_version": report.version,
            "positions": report.end.to_json(),
        }
        unfinished = self._path.with_name(f"{FILE}.{os.getpid()}")
        unfinished.write_text(json.dumps(document), encoding="utf-8")
        unfinished.replace(self._path)

    def _read(self) -> dict[str, Any] | None:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            kept: dict[str, Any] = json.loads(text)
            version = kept["version"]
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"the checkpoint {self._path} cannot be read: {error}") from error
        if version != VERSION:
            raise PipelineError(
                f"the checkpoint {self._path} has format version {version!r}, this release reads "
                f"{VERSION}; a newer release wrote it"
            )
        return kept
