"""What the records of a topic of dead letters were: their last headers say it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.columns import COLUMNS, HEADERS_TYPE
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.archiving.dead_letters import HEADER_PREFIX, HEADERS, time_in_text
from odradek.pipelines.sink.options import SinkOptions

SENT: Final = ("key", "value", "topic", "partition", "timestamp", "headers")
WHERE: Final = ("topic", "partition", "offset", "headers")
KEYS: Final = tuple(f"{HEADER_PREFIX}{it}" for it in HEADERS)


def chosen(batch: pa.RecordBatch, sink: SinkOptions) -> pa.RecordBatch:
    """What is sent of records; in another topic than their own they keep no partition."""
    return batch.select([it for it in SENT if it != "partition" or sink.topic is None])


def as_they_were(letters: pa.RecordBatch) -> pa.RecordBatch:
    """Records out of those of a topic of dead letters."""
    rows = list(_originals(letters.select(WHERE).to_pylist()))
    return pa.RecordBatch.from_arrays(
        [
            letters.column("key"),
            letters.column("value"),
            pa.array([it["topic"] for it in rows], pa.string()),
            pa.array([int(it["partition"]) for it in rows], COLUMNS["partition"]),
            pa.array([time_in_text(it["timestamp"]) for it in rows], pa.int64()).cast(
                COLUMNS["timestamp"]
            ),
            pa.array([it["headers"] for it in rows], HEADERS_TYPE),
        ],
        list(SENT),
    )


def _originals(letters: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in letters:
        headers = row["headers"] or []
        ours = headers[-len(KEYS) :]
        if tuple(it["key"] for it in ours) != KEYS:
            raise PipelineError(
                f"the record at offset {row['offset']} of {row['topic']}-{row['partition']} is no "
                f"dead letter of a pipeline: it lacks the headers {', '.join(KEYS)}"
            )
        said = {it["key"].removeprefix(HEADER_PREFIX): it["value"].decode() for it in ours}
        yield {**said, "headers": headers[: -len(KEYS)] or None}
