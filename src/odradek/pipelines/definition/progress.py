"""What a run shows of itself to others: a group's committed offsets, and figures for Prometheus.

Neither is needed by the run, so that neither can stop it: the table says where it goes on.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Final

from odradek.client.records.offsets import Position
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, Offset
from odradek.pipelines.client_options import ClientOptions
from odradek.pipelines.connections import client_of
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.reports import Account, BatchReport

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MILLIS: Final = 1_000

log = logging.getLogger("odradek.pipelines")


class GroupProgress:
    """Commits the end of each batch to a group, for every tool that shows a group's lag."""

    def __init__(self, client: ClientOptions, group: str) -> None:
        self._client = client
        self._group = group

    def __call__(self, report: BatchReport) -> None:
        """A group that cannot be written is worth a warning."""
        positions = {
            it: Position(Offset(report.end.offset(it) or 0), NO_LEADER_EPOCH) for it in report.end
        }
        try:
            client_of(self._client).commit(self._group, positions)
        except BrokerError as error:
            log.warning("group %s does not show the progress: %s", self._group, error)


class Figures:
    """The metrics of one run, as text for Prometheus."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self._lock = Lock()
        self._total = Account()
        self._batches = self._files = 0
        self._last: BatchReport | None = None
        self._newest_ms: dict[TopicPartition, int] = {}
        self._lag: dict[TopicPartition, int] = {}

    def __call__(self, report: BatchReport) -> None:
        """Counts a batch."""
        with self._lock:
            self._total += report.account
            self._batches += 1
            self._files += report.files
            self._last = report
            for it in report.latest:
                missing = (report.latest.offset(it) or 0) - (report.end.offset(it) or 0)
                self._lag[it] = max(0, missing)
            for it, millis in report.newest_ms.items():
                self._newest_ms[it] = max(millis, self._newest_ms.get(it, millis))

    def text(self) -> str:
        """All of them, as they are now."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        total, name = self._total, f'pipeline="{self._pipeline}"'
        counters = {
            "records_read": ("Records read from the topics.", total.read),
            "rows_written": ("Rows committed to the table.", total.written),
            "records_dropped": ("Records that expectations dropped.", total.dropped),
            "dead_letters": ("Records that gave no row.", total.dead),
            "written_bytes": ("Bytes of the data files committed.", total.bytes),
            "changed_bytes": ("Bytes of the changes, where each key has one row.", total.changed),
            "batches": ("Batches committed.", self._batches),
            "files": ("Data files committed.", self._files),
            "offsets_skipped": ("Offsets that were gone or damaged.", total.skipped),
        }
        for key, (text, value) in counters.items():
            yield f"# HELP odradek_pipeline_{key}_total {text}"
            yield f"# TYPE odradek_pipeline_{key}_total counter"
            yield f"odradek_pipeline_{key}_total{{{name}}} {value}"
        last = self._last
        if last is None:
            return
        yield "# HELP odradek_pipeline_lag Records of a partition behind the table's end."
        yield "# TYPE odradek_pipeline_lag gauge"
        for it, lag in sorted(self._lag.items()):
            place = f'{name},topic="{it.topic}",partition="{it.partition}"'
            yield f"odradek_pipeline_lag{{{place}}} {lag}"
        yield "# HELP odradek_pipeline_freshness_seconds Age of a partition's newest row."
        yield "# TYPE odradek_pipeline_freshness_seconds gauge"
        for it, millis in sorted(self._newest_ms.items()):
            age = max(0.0, time.time() - millis / MILLIS)
            place = f'{name},topic="{it.topic}",partition="{it.partition}"'
            yield f"odradek_pipeline_freshness_seconds{{{place}}} {age:.3f}"
        yield "# HELP odradek_pipeline_batch_seconds Duration of the last batch."
        yield "# TYPE odradek_pipeline_batch_seconds gauge"
        yield f"odradek_pipeline_batch_seconds{{{name}}} {last.duration_ms / MILLIS:.3f}"


@contextmanager
def served(figures: Figures, host: str, port: int) -> Iterator[int]:
    """The figures at `/metrics` while the run lasts; the port, which the system chose for 0."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Any path but the one is not there."""
            found = self.path.partition("?")[0] == "/metrics"
            body = figures.text().encode() if found else b"the figures are at /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A look is no news."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except (OSError, OverflowError) as error:
        raise PipelineError(f"figures cannot be served at {host}:{port}: {error}") from error
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
