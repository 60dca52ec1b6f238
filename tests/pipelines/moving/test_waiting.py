"""A broker, store, catalog or registry that goes away while an archive runs: it waits."""

import datetime as dt
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any, Self

import pytest

from odradek.model.units import HOUR, SECOND
from odradek.pipelines.errors import Away, Unreachable, error_of
from odradek.pipelines.formats.registry import (
    RegistryAway,
    RegistryFailed,
    SchemaRegistry,
    schema_by_id,
)
from odradek.pipelines.moving.archiving import waiting
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.triggers import Continuous, Once
from odradek.pipelines.moving.archiving.waiting import Waiting
from odradek.pipelines.moving.reports import BatchReport
from odradek.pipelines.tables import object_store
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.moving.archives import archive_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.tables.in_front import in_front_of
from tests.pipelines.tables.rest_catalog import serving
from tests.pipelines.topics import Topics

Said = pytest.LogCaptureFixture


class Running:
    """An archive in a thread, with what it says."""

    def __init__(self, job: Archive, said: Said) -> None:
        self._said = said
        self._stopping = Event()
        self._batch = Event()
        self.errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, args=(job,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self, job: Archive) -> None:
        def heard(_: BatchReport) -> None:
            self._batch.set()

        try:
            archive(LocalSpark(), job, Continuous(), on_batch=heard, stopping=self._stopping)
        except Exception as error:  # noqa: BLE001 - the test fails with it
            self.errors.append(error)
            self._batch.set()

    def batch(self) -> None:
        """Returns when one more is committed."""
        self._batch.wait()
        self._batch.clear()
        assert not self.errors, self.errors

    def says(self, text: str) -> None:
        """Returns when the run has said this."""
        while not any(text in it.getMessage() for it in self._said.records):
            assert not self.errors, self.errors
            Event().wait(0.02)


def test_a_broker_that_is_away(tmp_path: Path, caplog: Said) -> None:
    """One sentence when it goes, one when it is back; every record is one row."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "waiting")
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    more = {"kafka.default.api.timeout.ms": 500}
    job = archive_of(broker.bootstrap, topic, f"delta:{tmp_path}/t", options=more)
    with caplog.at_level(logging.WARNING, "odradek.pipelines"), Running(job, caplog) as run:
        run.batch()
        broker.stop()
        run.says("the run waits: no broker of")
        broker.start()
        run.says("the run goes on after")
        topics.fill_numbers(topic, 20)
        run.batch()
    broker.stop()
    assert [row[1] for row in rows_in(job.table)] == list(range(40))


@contextmanager
def leaving(
    form: str, bucket: dict[str, str], folder: Path
) -> Iterator[tuple[str, dict[str, str], Event]]:
    """A place for a table, and what makes it go away while it is set."""
    away = Event()
    if form == "iceberg":
        with serving(folder, away=away) as uri:
            options = {"type": "rest", "uri": uri}
            yield "iceberg:rest.lake.orders", options, away
    else:
        with in_front_of(bucket["endpoint"], away=away) as endpoint:
            options = {**bucket, "endpoint": endpoint}
            yield f"{form}:s3://lake/{folder.name}", options, away


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_store_or_catalog_that_is_away(  # noqa: PLR0917 - fixtures
    topics: Topics,
    bucket: dict[str, str],
    tmp_path: Path,
    caplog: Said,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    """The batch that could not be committed is written again."""
    monkeypatch.setattr(object_store, "ATTEMPTS_FOR", dt.timedelta(milliseconds=10))
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    with leaving(form, bucket, tmp_path) as (table, options, away):
        job = replace(archive_of(topics.bootstrap, topic, table), table_options=options)
        with caplog.at_level(logging.WARNING, "odradek.pipelines"), Running(job, caplog) as run:
            run.batch()
            away.set()
            topics.fill_numbers(topic, 20)
            run.says("the run waits: ")
            away.clear()
            run.batch()
            run.says("the run goes on after")
        assert [row[1] for row in rows_in(table, options)] == list(range(40))


@contextmanager
def answering(status: int) -> Iterator[SchemaRegistry]:
    """A registry that answers all with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Whatever is asked."""
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is said."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield SchemaRegistry(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_registry_that_is_away() -> None:
    """It may answer later; one that refuses will refuse again. Tasks say which it is."""
    with answering(503) as url, pytest.raises(RegistryAway, match="answers 503") as error:
        schema_by_id(url, 1)
    with pytest.raises(RegistryAway, match="does not answer"):
        schema_by_id(url, 2)
    with answering(403) as url, pytest.raises(RegistryFailed) as refused:
        schema_by_id(url, 3)
    assert not isinstance(refused.value, Away)
    name = f"{RegistryAway.__module__}.{RegistryAway.__name__}"
    found = error_of(RuntimeError(f"Traceback\n  File\n{name}: {error.value}\n"))
    assert isinstance(found, RegistryAway)
    assert str(found) == str(error.value)


def test_what_was_never_there_is_not_waited_for(tmp_path: Path) -> None:
    """A mistyped address is told at once, also where the table is there already."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "never")
    topic = topics.make()
    topics.fill_numbers(topic, 5)
    more = {"kafka.default.api.timeout.ms": 500}
    job = archive_of(broker.bootstrap, topic, f"delta:{tmp_path}/t", options=more)
    archive(LocalSpark(), job, Once())
    broker.stop()
    with pytest.raises(Unreachable):
        archive(LocalSpark(), job, Continuous())


def test_a_run_that_is_to_end_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that goes on for ever waits for ever; pauses grow up to a minute."""
    paused: list[float] = []
    stopping: Any = Event()
    monkeypatch.setattr(stopping, "wait", paused.append)
    once, always = Waiting(waiting.ONCE_MS_MAX), Waiting(None)
    for it in once, always:
        it.begun()
        for now in range(0, 2 * HOUR, 60 * SECOND):
            it.wait(Away("away"), now, stopping)
    assert paused[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    always.wait(Away("away"), 50 * HOUR, stopping)
    with pytest.raises(Away):
        once.wait(Away("away"), 2 * HOUR + 1, stopping)
