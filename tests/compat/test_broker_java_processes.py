"""Kafka's Java programs that are processes of their own: they live from arguments to exit."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compat.broker_process import Broker, eventually
from tests.compat.java_clients import TOOLS, Java, fresh
from tests.compat.mortal_member import mortal
from tests.external.tools import LOG4J

SECONDS_MAX = 60
OPTIONS = ("-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{LOG4J}")


class Programs:
    """How they are called."""

    def __init__(self, java: str, classpath: str, broker: Broker) -> None:
        self._java = [java, *OPTIONS, "-cp", classpath]
        self._where = ["--bootstrap-server", broker.bootstrap]

    def command(self, main: str, *arguments: str) -> Sequence[str]:
        """To be run."""
        return [*self._java, main, *self._where, *arguments]

    def run(self, main: str, *arguments: str, said: str = "") -> str:
        """Run, with this on its standard input; what it says. It must end well."""
        ended = subprocess.run(
            self.command(main, *arguments),
            input=said,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def programs(java: str, kafka_classpath: str, broker: Broker) -> Programs:
    """At our broker."""
    return Programs(java, kafka_classpath, broker)


def test_the_verifiable_clients(programs: Programs) -> None:
    """Every record is acknowledged, and read."""
    name, many = fresh("orders"), ("--max-messages", "200")
    said = programs.run(f"{TOOLS}.VerifiableProducer", *many, "--topic", name)
    assert said.count('"producer_send_success"') == 200
    how = ("--topic", name, "--group-id", fresh("readers"), "--reset-policy", "earliest")
    said = programs.run(f"{TOOLS}.VerifiableConsumer", *many, *how)
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    consumed = [event["count"] for event in events if event["name"] == "records_consumed"]
    assert sum(consumed) == 200
    assert any(event["name"] == "offsets_committed" and event["success"] for event in events)


def test_the_console_clients(programs: Programs) -> None:
    """Lines in, lines out, with their keys."""
    name, lines = fresh("orders"), "".join(f"{number}:line {number}\n" for number in range(50))
    keyed = ("--property", "parse.key=true", "--property", "key.separator=:")
    programs.run("kafka.tools.ConsoleProducer", "--topic", name, *keyed, said=lines)
    keyed = ("--property", "print.key=true", "--property", "key.separator=:")
    how = ("--from-beginning", "--max-messages", "50")
    main = f"{TOOLS}.consumer.ConsoleConsumer"
    said = programs.run(main, "--topic", name, *how, *keyed)
    assert [it for it in said.splitlines(keepends=True) if ":line " in it] == lines.splitlines(
        keepends=True
    )


def test_kafka_reads_what_groups_have_written(programs: Programs) -> None:
    """Their topic, with the formatters of Kafka: members, positions, and what was deleted."""
    name, group = fresh("orders"), fresh("readers")
    programs.run("kafka.tools.ConsoleProducer", "--topic", name, said="line\n")
    main, formatters = f"{TOOLS}.consumer.ConsoleConsumer", f"{TOOLS}.consumer"
    how = ("--from-beginning", "--max-messages", "1", "--group", group)
    programs.run(main, "--topic", name, *how)
    programs.run(f"{TOOLS}.consumer.group.ConsumerGroupCommand", "--delete", "--group", group)

    def read(formatter: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for patience in ("2000", "20000"):  # its consumer may need long to begin
            how = ("--from-beginning", "--timeout-ms", patience, "--formatter", formatter)
            said = programs.run(main, "--topic", "__consumer_offsets", *how)
            beginnings = [match.start() for match in re.finditer(r'{"key":{', said)]
            rows = [json.JSONDecoder().raw_decode(said, at)[0] for at in beginnings]
            found = [row for row in rows if row["key"]["data"]["group"] == group]
            if found:
                break
        return found

    positions = [row["value"] for row in read(f"{formatters}.OffsetsMessageFormatter")]
    assert positions[0]["data"]["offset"] == 1
    assert positions[-1] is None
    lives = [row["value"] for row in read(f"{formatters}.GroupMetadataMessageFormatter")]
    assert [len(it["data"]["members"]) for it in lives[:-1]] == [1, 0]
    assert lives[-1] is None


def test_a_member_that_dies_is_missed(
    programs: Programs, java_clients: Java, tmp_path: Path
) -> None:
    """Its session ends, and who is left has what it had."""
    name, group = java_clients.topic(2), fresh("readers")
    config = tmp_path / "consumer.properties"
    config.write_text("heartbeat.interval.ms=100\n")
    how = ("--session-timeout", "1000", "--consumer.config", str(config))
    main = f"{TOOLS}.VerifiableConsumer"
    dying = programs.command(main, "--topic", name, "--group-id", group, *how)
    with (
        mortal(dying, told="partitions_assigned") as dies,
        java_clients.consumer(name, group) as stays,
    ):
        eventually(lambda: len(stays.share()) == 1)
        dies.kill()
        eventually(lambda: stays.share() == {0, 1})
