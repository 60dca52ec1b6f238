"""Clients of other people's, at three brokers of which one is restarted, and one is killed."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Final

from tests.compat.broker_process import eventually
from tests.live.cluster import LiveCluster
from tests.live.programs import SECONDS_MAX, JavaProgram, Program, running
from tests.live.workload import SteadyProducer, SteadyReader, check_kept, read_all

PARTITIONS: Final = 3

Records = dict[int, dict[int, str]]
"""By partition and offset the values."""


class Franz(Program):
    """franz-go's producer and consumer, in one process."""

    def __init__(self, program: str, cluster: LiveCluster, folder: Path) -> None:
        command = [program, cluster.bootstrap, "franz", str(PARTITIONS), "franz-readers"]
        super().__init__(command, folder / "franz")

    def finish(self) -> None:
        """It sends no more, and reads what is there."""
        self.process.communicate(timeout=SECONDS_MAX)
        assert self.process.returncode == 0, self.lines()[-10:]

    def records(self, which: str) -> Records:
        """Those that were `sent`, or `read`."""
        found: Records = defaultdict(dict)
        for line in self.lines():
            kind, partition, offset, value = line.split()
            if kind == which:
                found[int(partition)][int(offset)] = value
        return found


class JavaClient(JavaProgram):
    """One of Kafka's verifiable clients: an event is a line of JSON."""

    def records(self) -> Records:
        """As the events name them."""
        found: Records = defaultdict(dict)
        for line in self.lines():
            if line.startswith("{"):
                event = json.loads(line)
                if event["name"] in {"producer_send_success", "record_data"}:
                    found[event["partition"]][event["offset"]] = event["value"]
        return found


def includes(found: Records, wanted: Records) -> bool:
    """Every record that is wanted is there, at its offset."""
    return all(wanted[partition].items() <= found[partition].items() for partition in wanted)


def test_clients_go_on_while_brokers_come_and_go(
    franz: str, kafka_classpath: str, tmp_path: Path
) -> None:
    """librdkafka's, Java's and franz-go's: what was acknowledged is read, and nothing fails."""
    with LiveCluster(tmp_path / "cluster") as cluster:
        for topic in ("franz", "java", "librdkafka"):
            cluster.make(topic, PARTITIONS)
        at = ("--bootstrap-server", cluster.bootstrap, "--topic", "java")
        group = ("--group-id", "java", "--reset-policy", "earliest", "--verbose")
        config = tmp_path / "producer.properties"
        config.write_text("retries=2147483647\n")  # as any other producer has it
        how = ("--throughput", "300", "--producer.config", str(config))
        sender = JavaClient(kafka_classpath, "VerifiableProducer", tmp_path, *at, *how)
        receiver = JavaClient(kafka_classpath, "VerifiableConsumer", tmp_path, *at, *group)
        both = Franz(franz, cluster, tmp_path)
        with (
            running(sender, receiver, both),
            SteadyProducer(cluster.bootstrap, "librdkafka", PARTITIONS) as producer,
            SteadyReader(cluster.bootstrap, "librdkafka", "readers") as reader,
        ):

            def counts() -> list[int]:
                """What each client has sent and read."""
                kinds = (sender.records(), receiver.records(), *map(both.records, ("sent", "read")))
                told = [sum(map(len, records.values())) for records in kinds]
                return [*told, producer.count(), sum(map(len, reader.values.values()))]

            for way in ("stop", "kill"):
                eventually(lambda: min(counts()) > 0, what="all have begun")
                number = cluster.controller()
                getattr(cluster.brokers[number], way)()
                cluster.await_gone(number, "franz", "java", "librdkafka")
                before = counts()
                eventually(
                    lambda: all(map(int.__gt__, counts(), before)),  # noqa: B023
                    what="all go on",
                )
                cluster.brokers[number].start()
                cluster.await_isr("franz", "java", "librdkafka", 3)
            producer.stop()
            sender.finish()
            both.finish()
            eventually(lambda: includes(receiver.records(), sender.records()), what="Java read all")
            eventually(lambda: reader.has_read(producer), what="librdkafka read all")
            assert includes(both.records("read"), both.records("sent"))
            assert not [line for line in both.lines() if line.startswith("failed")]
            assert not [line for line in sender.lines() if "producer_send_error" in line]
            assert not producer.failed
        check_kept(producer, read_all(cluster.bootstrap, "librdkafka", PARTITIONS))
        cluster.check_replicas_equal("franz", "java", "librdkafka")
