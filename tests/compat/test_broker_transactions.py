"""Transactions of Java's producer, and Kafka's own script for operators, at our coordinator."""

from typing import Final

from click.testing import CliRunner
from confluent_kafka import Producer

from odradek.cli.kafka.dump_log import command
from odradek.model.names import TRANSACTION_STATE_TOPIC
from tests.compat.broker_process import Broker, OdradekBroker, eventually
from tests.compat.java_clients import TOOLS, Java, fresh

DUMP: Final = "kafka.tools.DumpLogSegments"


def test_kafkas_own_producer_and_script(java_clients: Java, broker: Broker) -> None:
    """Java's producer commits often; the script lists, describes and finds nothing that hangs."""
    topic, name = java_clients.topic(), fresh("mover")
    answer = java_clients.oracle.ask(
        "tool",
        main=f"{TOOLS}.ProducerPerformance",
        arguments=[
            *("--topic", topic, "--num-records", "2000", "--record-size", "100"),
            *("--throughput", "-1", "--transactional-id", name),
            *("--transaction-duration-ms", "20"),
            *("--producer-props", f"bootstrap.servers={broker.bootstrap}"),
        ],
    )
    assert answer["status"] == 0, answer["said"]
    assert "2000 records sent" in answer["said"]
    with java_clients.consumer(
        topic, fresh("readers"), isolation_level="read_committed"
    ) as consumer:
        assert len(consumer.take(2_000)) == 2_000

    def script(*arguments: str) -> str:
        where = ["--bootstrap-server", broker.bootstrap]
        answer = java_clients.oracle.ask(
            "tool", main=f"{TOOLS}.TransactionsCommand", arguments=[*where, *arguments]
        )
        assert answer["status"] == 0, answer["said"]
        return str(answer["said"])

    at = ("--topic", topic, "--partition", "0")
    eventually(lambda: "CompleteCommit" in _line(script("list"), name))
    assert "CompleteCommit" in _line(script("describe", "--transactional-id", name), name)
    assert len(script("describe-producers", *at).splitlines()) == 2
    assert len(script("find-hanging", *at).splitlines()) == 1


def _line(said: str, name: str) -> str:
    return next((line for line in said.splitlines() if name in line), "")


def test_kafka_reads_our_state_records(java_clients: Java, broker: OdradekBroker) -> None:
    """Its own dump of a state partition says what ours says, line for line."""
    name = fresh("mover")
    topic = java_clients.topic()
    settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": name}
    producer = Producer(settings)
    producer.init_transactions()
    for _ in range(2):
        producer.begin_transaction()
        producer.produce(topic, "a", partition=0)
        producer.commit_transaction()
    # A commit is answered before it is complete; the next incarnation waits until it is.
    Producer(settings).init_transactions()
    found = sorted(broker.directory.glob(f"*/{TRANSACTION_STATE_TOPIC}-*/*.log"))
    files = [str(path) for path in found if name.encode() in path.read_bytes()]
    assert files
    options = ["--files", files[0], "--transaction-log-decoder"]
    answer = java_clients.oracle.ask("tool", main=DUMP, arguments=options)
    assert answer["status"] == 0, answer["said"]
    ours = CliRunner().invoke(command, options).output
    assert f"transactionalId={name} payload: " in ours
    assert ours.splitlines() == answer["said"].splitlines()
