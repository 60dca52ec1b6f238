"""Pipelines and brokers that ask for a name: TLS and a login, by Kafka's settings."""

import gc
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from odradek.pipelines.client_options import ClientOptions
from odradek.pipelines.connections import client_of, sentences
from odradek.pipelines.definition.definition import parse as parse_file
from odradek.pipelines.errors import Away, InvalidOption, PipelineError
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.source.options import Mode, parse
from tests.compat.broker_process import OdradekBroker
from tests.external.ports import free_port
from tests.live.secured import PASSWORD, TLS, USERS, login
from tests.pipelines.moving.archives import archive_of, records_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics
from tests.samples.certificate_files import certificates

LOGIN: Final = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "PLAIN",
    "kafka.sasl.jaas.config": login("PLAIN"),
    "kafka.ssl.truststore.location": certificates("trusted.crt"),
}


class Named(OdradekBroker):
    """A broker that asks for a name at one of its two listeners."""

    def __init__(self, directory: Path) -> None:
        self.asking = f"localhost:{free_port()}"
        super().__init__(
            directory,
            **{
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,NAMED:SASL_SSL",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.named.plain.sasl.jaas.config": USERS,
                "connection.failed.authentication.delay.ms": "5",
                **TLS,
            },
        )
        self._settings["listeners"] = f"PLAINTEXT://{self.bootstrap},NAMED://{self.asking}"


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    """One for all tests."""
    broker = Named(tmp_path_factory.mktemp("named") / "broker")
    broker.start()
    yield broker
    broker.stop()
    assert PASSWORD not in broker.log()


def options_of(address: str, given: Mapping[str, str]) -> ClientOptions:
    """Of a reader."""
    return parse(
        {"kafka.bootstrap.servers": address, "subscribe": "orders", **given}, Mode.BATCH
    ).client


def test_a_topic_is_archived_by_somebody_who_logs_in(named: Named, tmp_path: Path) -> None:
    """In the driver and in tasks, over TLS."""
    topics = Topics(named.bootstrap, "secured")
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(100)])
    job = archive_of(named.asking, topic, f"delta:{tmp_path}/t", options=LOGIN)
    assert archive(LocalSpark(), job, Once()).written == 100
    assert [row[3] for row in rows_in(job.table)] == [
        b"%d" % it for part in range(2) for it in range(part, 100, 2)
    ]


def test_source_and_sink_of_spark(spark: Any, named: Named, tmp_path: Path) -> None:
    """Plans, tasks and what they send go over TLS; the secret stands in a file."""
    topics = Topics(named.bootstrap, "of-spark")
    topic, other = topics.make(partitions=2), topics.make("other", partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(100)])
    secret = tmp_path / "jaas"
    secret.write_text(login("PLAIN"))
    options = {
        "kafka.bootstrap.servers": named.asking,
        **LOGIN,
        "kafka.sasl.jaas.config": f"${{file:{secret}}}",
    }
    frame = spark.read.format("odradek").options(**options, subscribe=topic).load()
    rows = frame.select("value", "partition")
    rows.write.format("odradek").options(**options, topic=other).mode("append").save()
    assert records_of(named.bootstrap, other, range(2)) == records_of(
        named.bootstrap, topic, range(2)
    )


def test_no_secret_is_in_what_spark_keeps(spark: Any, named: Named, tmp_path: Path) -> None:
    """Plans, event logs and checkpoints outlive a run, and are read by more than may log in.

    The password stands in the options here: a reference is nothing that could be seen.
    """
    topics = Topics(named.bootstrap, "kept")
    topic, other = topics.make(), topics.make("other")
    topics.fill(topic, [{"value": b"%d" % it} for it in range(10)])
    kept, options = tmp_path / "checkpoint", {"kafka.bootstrap.servers": named.asking, **LOGIN}
    reader = spark.readStream.format("odradek").options(**options, subscribe=topic)
    rows = reader.option("startingOffsets", "earliest").load().select("value")
    writer = rows.writeStream.format("odradek").options(**options, topic=other)
    query = writer.option("checkpointLocation", str(kept)).trigger(availableNow=True).start()
    query.awaitTermination()
    assert len(records_of(named.bootstrap, other, range(1))) == 10
    is_long = True
    plans = query._jsq.explainInternal(is_long) + rows._jdf.queryExecution().toString()
    events = Path(spark.conf.get("spark.eventLog.dir").removeprefix("file:"))
    logs = [it for it in events.rglob(f"*{spark.sparkContext.applicationId}*") if it.is_file()]
    assert logs
    files = [*logs, *(it for it in kept.rglob("*") if it.is_file())]
    texts = [plans, *(it.read_text("latin-1") for it in files)]
    assert any(str(query.runId) in text for text in texts)
    assert not [text for text in texts if PASSWORD in text]


def test_a_command_logs_in(named: Named, tmp_path: Path) -> None:
    """By the settings of its file, as commands do that need no Spark."""
    topics = Topics(named.bootstrap, "commanded")
    topic = topics.make()
    topics.fill(topic, [{"value": b'{"id": 1}'}])
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{it.removeprefix('kafka.')}={of}\n" for it, of in LOGIN.items()))
    command = [sys.executable, "-m", "odradek", "pipeline", "draft", "--topics", topic]
    where = ["--to", f"delta:{tmp_path}/t", "-b", named.asking, "--command-config", str(file)]
    done = subprocess.run([*command, *where], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'id = "long"' in done.stdout


def test_a_secret_that_stands_elsewhere(
    named: Named, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked up where the run was begun, goes to the workers, and is never shown."""
    secret = tmp_path / "jaas"
    secret.write_text(login("PLAIN") + "\n")
    monkeypatch.setenv("TRUSTED", certificates("trusted.crt"))
    given = {"sasl.jaas.config": f"${{file:{secret}}}", "ssl.truststore.location": "${env:TRUSTED}"}
    kafka = {it.removeprefix("kafka."): value for it, value in LOGIN.items()} | given
    content = {
        "name": "orders",
        "source": {"bootstrap-server": named.asking, "topics": ["orders"], "kafka": kafka},
        "table": {"location": "delta:t"},
    }
    client = parse_file(content, tmp_path).archive.source.client
    sent = pickle.dumps(client)
    secret.unlink()
    monkeypatch.delenv("TRUSTED")
    worker = pickle.loads(sent)
    assert PASSWORD not in repr(client) + repr(worker)
    with sentences(worker):
        assert client_of(worker).cluster().brokers
    with pytest.raises(InvalidOption, match=r"TRUSTED|jaas"):
        client_of(client)


def test_a_login_that_is_refused(named: Named) -> None:
    """Waiting would not mend it: it is no broker that is away. No connection is left open."""
    wrong = login("PLAIN", password="wrong-secret")
    client = options_of(named.asking, {**LOGIN, "kafka.sasl.jaas.config": wrong})

    def refused() -> None:
        with (
            pytest.raises(PipelineError, match="the broker refused the login") as met,
            sentences(client),
        ):
            client_of(client).cluster()
        assert not isinstance(met.value, Away)
        assert "wrong-secret" not in str(met.value)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        refused()
        gc.collect()
    assert not [str(it.message) for it in said if it.category is ResourceWarning]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka.security.protocol": "SSLPLAIN"}, "security.protocol=SSLPLAIN"),
        ({"kafka.security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI"),
        ({**LOGIN, "kafka.sasl.jaas.config": "no module"}, "sasl.jaas.config"),
    ],
)
def test_what_cannot_be_honoured_is_refused(given: Mapping[str, str], said: str) -> None:
    """When the options are read, before anything is asked."""
    with pytest.raises(InvalidOption, match=said):
        options_of("localhost:1", given)


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    """It is named when the first connection is made."""
    missing = str(tmp_path / "none.pem")
    client = options_of("localhost:1", {**LOGIN, "kafka.ssl.truststore.location": missing})
    with pytest.raises(InvalidOption, match=r"none\.pem"):
        client_of(client)
