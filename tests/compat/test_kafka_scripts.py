"""Kafka's scripts and ours side by side on the same broker: the same lines, which others parse.

What differs on purpose is listed in docs/kafka-scripts.md.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer

from odradek.cli.nouns import SCRIPTS
from odradek.model.names import GROUP_METADATA_TOPIC
from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.java_clients import TOOLS, Java
from tests.compat.odradek_shell import Shell, fresh

MAINS: Final = {
    "kafka-topics": f"{TOOLS}.TopicCommand",
    "kafka-console-consumer": f"{TOOLS}.consumer.ConsoleConsumer",
    "kafka-consumer-groups": f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-log-dirs": f"{TOOLS}.LogDirsCommand",
    "kafka-reassign-partitions": f"{TOOLS}.reassign.ReassignPartitionsCommand",
    "kafka-leader-election": f"{TOOLS}.LeaderElectionCommand",
    "kafka-get-offsets": f"{TOOLS}.GetOffsetShell",
    "kafka-delete-records": f"{TOOLS}.DeleteRecordsCommand",
    "kafka-dump-log": "kafka.tools.DumpLogSegments",
    "kafka-transactions": f"{TOOLS}.TransactionsCommand",
    "kafka-features": f"{TOOLS}.FeatureCommand",
}
WITH_COMMANDS: Final = ("kafka-transactions", "kafka-features")
"""What is for all commands stands before them."""

SAME_ATTEMPTS: Final = 3


class Both:
    """Kafka's script and ours."""

    def __init__(self, java: Java, odradek: Shell) -> None:
        self.java = java
        self.odradek = odradek

    def kafka(self, script: str, *arguments: str) -> list[str]:
        """What Kafka's prints; it must end well."""
        if script == "kafka-dump-log":
            answer = self.java.oracle.ask("tool", main=MAINS[script], arguments=list(arguments))
            return lines(answer["said"])
        if script in WITH_COMMANDS:
            where = ["--bootstrap-server", self.java.bootstrap]
            answer = self.java.oracle.ask(
                "tool", main=MAINS[script], arguments=[*where, *arguments]
            )
            assert answer["status"] == 0, answer["said"]
            return lines(answer["said"])
        return lines(self.java.tool(MAINS[script], *arguments))

    def ours(self, script: str, *arguments: str) -> list[str]:
        """What ours prints."""
        return lines(self.odradek(script, *arguments).out)

    @property
    def either(self) -> tuple[Callable[..., list[str]], Callable[..., list[str]]]:
        """To ask first the one, then the other."""
        return self.kafka, self.ours

    def same(self, script: str, *arguments: str) -> list[str]:
        """Asks both the same, and returns it."""
        answers = [(self.kafka(script, *arguments), self.ours(script, *arguments))]
        while answers[-1][0] != answers[-1][1] and len(answers) < SAME_ATTEMPTS:
            # what an earlier test deleted may have gone between the two
            answers.append((self.kafka(script, *arguments), self.ours(script, *arguments)))
        kafka, ours = answers[-1]
        assert ours == kafka
        return kafka


def lines(text: str) -> list[str]:
    """Without the blanks at their ends, which nobody sees, and empty lines at the end."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.fixture
def both(java_clients: Java, odradek: Shell) -> Both:
    """Both, pointed at the same broker."""
    return Both(java_clients, odradek)


@pytest.fixture
def group(odradek: Shell, letters: str) -> str:
    """It has read a part of `letters`."""
    name = fresh("readers")
    odradek("consume", letters, "-g", name, "-e")
    odradek("produce", letters, "-p", "1", said=b"more\n")
    return name


def test_topics(both: Both, letters: str) -> None:
    """Listed and described the same, created and deleted with the same words."""
    assert letters in both.same("kafka-topics", "--list")
    both.same("kafka-topics", "--list", "--exclude-internal", "--topic", "orders.*")
    described = both.same("kafka-topics", "--describe", "--topic", letters)
    assert len(described) == 3
    both.same("kafka-topics", "--describe", "--topic", letters, "--under-replicated-partitions")
    both.same("kafka-topics", "--describe", "--topic", letters, "--at-min-isr-partitions")
    both.same("kafka-topics", "--describe", "--topics-with-overrides", "--topic", letters)
    for say in (both.kafka, both.ours):
        name = fresh("a.topic_of")
        settings = ("--config", "retention.ms=1000", "--partitions=2", "--replication-factor", "1")
        made = say("kafka-topics", "--create", "--topic", name, *settings)
        assert made[0].startswith("WARNING: Due to limitations in metric names")
        assert made[1:] == [f"Created topic {name}."]
        assert say("kafka-topics", "--create", "--if-not-exists", "--topic", name) == made[:1]
        assert say("kafka-topics", "--alter", "--topic", name, "--partitions", "3") == []
        (head, *rows) = say("kafka-topics", "--describe", "--topic", name)
        assert "Configs: retention.ms=1000" in head
        assert len(rows) == 3
        assert say("kafka-topics", "--delete", "--topic", name) == []


def test_groups(both: Both, letters: str, group: str) -> None:
    """Listed, described in four ways, planned, moved and deleted."""
    script = "kafka-consumer-groups"
    assert group in both.same(script, "--list")
    both.same(script, "--list", "--state")
    for more in ([], ["--offsets"]):
        ours, kafka = (
            say(script, "--describe", "--group", group, *more) for say in (both.ours, both.kafka)
        )
        assert ours[:2] == kafka[:2]
        assert sorted(ours) == sorted(kafka), "Kafka's has the order of a hash table"
        assert ours[-1].split()[:6] == [group, letters, "1", "0", "1", "1"]
    for more in (["--members"], ["--members", "--verbose"], ["--state"]):
        both.same(script, "--describe", "--group", group, *more)
    plan = ("--reset-offsets", "--group", group, "--topic", letters, "--dry-run")
    for where in (["--to-earliest"], ["--to-latest"], ["--shift-by", "-1"], ["--to-offset", "2"]):
        ours, kafka = (say(script, *plan, *where) for say in (both.ours, both.kafka))
        assert rows_of(ours) == rows_of(kafka)
    exported = both.ours(script, *plan, "--to-earliest", "--export")
    assert exported == [f"{letters},0,0", f"{letters},1,0"]
    assert sorted(both.kafka(script, *plan, "--to-earliest", "--export")) == exported
    moved = ("--reset-offsets", "--group", group, "--topic", f"{letters}:1", "--to-offset", "2")
    ours, kafka = (say(script, *moved, "--execute") for say in (both.ours, both.kafka))
    assert rows_of(ours) == rows_of(kafka)
    for say in (both.kafka, both.ours):
        say(script, *plan[:-1], "--to-latest", "--execute")
        said = say(script, "--delete-offsets", "--group", group, "--topic", letters)
        assert said[0] == f"Request succeed for deleting offsets with topic {letters} group {group}"
        rows = " ".join(said[2:]).split()
        assert rows == [
            "TOPIC",
            "PARTITION",
            "STATUS",
            letters,
            "0",
            "Successful",
            letters,
            "1",
            rows[5],
        ]


def rows_of(said: list[str]) -> list[list[str]]:
    """Kafka 3.9 has lost the line ends of this table."""
    words = " ".join(said).split()
    return sorted(words[at : at + 4] for at in range(0, len(words), 4))


def test_a_group_that_is_deleted(both: Both, letters: str) -> None:
    """The same words; one that is not there is an error here, and exit code 0 in Kafka's."""
    for say in (both.kafka, both.ours):
        name = fresh("readers")
        both.odradek("consume", letters, "-g", name, "-e")
        assert say("kafka-consumer-groups", "--delete", "--group", name) == [
            f"Deletion of requested consumer groups ('{name}') was successful."
        ]
    ended = both.odradek.run("kafka-consumer-groups", "--describe", "--group", "no-such")
    expected = both.kafka("kafka-consumer-groups", "--describe", "--group", "no-such")
    assert (ended.code, lines(ended.out)) == (1, expected)


def test_settings(both: Both, letters: str) -> None:
    """Altered with the same words, described with the same synonyms."""
    entity = ("--entity-type", "topics", "--entity-name", letters)
    change = ("--alter", "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]")
    assert both.same("kafka-configs", *entity, *change) == [
        f"Completed updating config for topic {letters}."
    ]
    assert len(both.same("kafka-configs", *entity, "--describe")) == 3
    both.same("kafka-configs", "--topic", letters, "--describe", "--all")
    for say in (both.kafka, both.ours):
        say("kafka-configs", *entity, "--alter", "--add-config", "retention.ms=5000")
        said = say("kafka-configs", *entity, "--alter", "--delete-config", "retention.ms")
        assert said == [f"Completed updating config for topic {letters}."]
    all_brokers = ("--entity-type", "brokers", "--entity-default")
    both.same("kafka-configs", *all_brokers, "--alter", "--add-config", "log.retention.ms=90000000")
    both.same("kafka-configs", *all_brokers, "--describe")
    both.same("kafka-configs", "--broker", "1", "--describe")


def test_quotas(both: Both, letters: str) -> None:
    """Of users, of clients, of all others, of addresses: what one sets the other shows."""
    user, client = ("--entity-type", "users"), ("--entity-type", "clients")
    alice, app = ("--entity-name", f"alice {letters}"), ("--entity-name", letters)
    many = ("--add-config", "producer_byte_rate=1024,request_percentage=12.5")
    for entity in (
        (*user, *alice),
        (*client, *app),
        (*user, *alice, *client, *app),
        (*client, *app, *user, "--entity-default"),
        (*user, "--entity-default", *client, "--entity-default"),
        ("--user", letters, "--client-defaults"),
        ("--client-defaults",),
    ):
        both.same("kafka-configs", *entity, "--alter", *many)
        assert len(both.same("kafka-configs", *entity, "--describe")) == 1, entity
        gone = ("--delete-config", "producer_byte_rate")
        for say in both.either:
            say("kafka-configs", *entity, "--alter", "--add-config", "producer_byte_rate=5")
            say("kafka-configs", *entity, "--alter", *gone)
        assert "12.5" in both.same("kafka-configs", *entity, "--describe")[0]
        both.same("kafka-configs", *entity, "--alter", "--add-config", "request_percentage=50")
        both.ours("kafka-configs", *entity, "--alter", "--delete-config", "request_percentage")
        assert not both.same("kafka-configs", *entity, "--describe")
    address = ("--ip", "10.1.2.3")
    rate = ("--add-config", "connection_creation_rate=70")
    both.same("kafka-configs", *address, "--alter", *rate)
    assert len(both.same("kafka-configs", *address, "--describe")) == 1
    both.same("kafka-configs", "--entity-type", "ips", "--describe")
    both.ours("kafka-configs", *address, "--alter", "--delete-config", "connection_creation_rate")


def test_offsets_and_log_dirs(both: Both, letters: str) -> None:
    """The offsets as `topic:partition:offset`; the log dirs as JSON."""
    ends = [f"{letters}:0:8", f"{letters}:1:0"]
    assert both.same("kafka-get-offsets", "--topic", letters) == ends
    for time in ("-2", "earliest", "-1", "1"):
        both.same("kafka-get-offsets", "--topic", letters, "--time", time)
    both.same("kafka-get-offsets", "--topic-partitions", f"{letters}:1-2")
    both.same("kafka-get-offsets", "--topic", letters, "--partitions", "0")
    both.same("kafka-get-offsets", "--exclude-internal-topics")
    *head, ours = both.ours("kafka-log-dirs", "--describe", "--topic-list", letters)
    *expected_head, kafka = both.kafka("kafka-log-dirs", "--describe", "--topic-list", letters)
    assert head == expected_head
    assert by_dir(ours) == by_dir(kafka)


def by_dir(text: str) -> object:
    """Without the order of dirs and partitions, which Java's sets do not have either."""
    document = json.loads(text)
    return document["version"], {
        (broker["broker"], dir_["logDir"], dir_["error"]): sorted(map(str, dir_["partitions"]))
        for broker in document["brokers"]
        for dir_ in broker["logDirs"]
    }


def test_records_are_deleted(both: Both, letters: str, tmp_path: Path) -> None:
    """Before an offset of each partition, from the same file."""
    file = tmp_path / "offsets.json"
    rows = [{"topic": letters, "partition": 0, "offset": 2}]
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    said = both.same("kafka-delete-records", "--offset-json-file", str(file))
    assert said[-1] == f"partition: {letters}-0\tlow_watermark: 2"


def test_elections_and_reassignments(both: Both, letters: str, tmp_path: Path) -> None:
    """With one broker nothing moves, and both say so alike."""
    kind = ("--election-type", "preferred")
    both.same("kafka-leader-election", *kind, "--topic", letters, "--partition", "0")
    both.same("kafka-leader-election", *kind, "--all-topic-partitions")
    script = "kafka-reassign-partitions"
    both.same(script, "--list")
    file = tmp_path / "move.json"
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": letters}]}))
    generate = ("--generate", "--topics-to-move-json-file", str(file), "--broker-list", "1")
    plan = both.same(script, *generate)[-1]
    file.write_text(plan)
    how = ("--reassignment-json-file", str(file))
    for more in ([], ["--throttle", "1000000"]):
        ours, kafka = (say(script, "--execute", *how, *more) for say in (both.ours, both.kafka))
        assert sorted(ours) == sorted(kafka)
    settings = ("--describe", "--entity-type", "topics", "--entity-name", letters)
    assert any("throttled.replicas=0:1,1:1" in it for it in both.same("kafka-configs", *settings))
    both.same(script, "--verify", *how)
    assert not any("throttled" in it for it in both.same("kafka-configs", *settings))
    both.same(script, "--cancel", *how, "--preserve-throttles")
    ours, kafka = (say(script, "--cancel", *how) for say in (both.ours, both.kafka))
    assert "".join(ours) == "".join(kafka), "Kafka's lacks the end of a line"


def test_a_reassignment_chooses_log_dirs(
    both: Both, letters: str, broker: OdradekBroker, tmp_path: Path
) -> None:
    """Each script moves the replica to the other dir, and says the same until it is there."""
    script, file = "kafka-reassign-partitions", tmp_path / "move.json"
    how = ("--reassignment-json-file", str(file))
    throttle = ("--replica-alter-log-dirs-throttle", "10000000")
    said: list[list[str]] = []
    for say in (both.kafka, both.ours):
        (here,) = (it.parent for it in broker.directory.glob(f"disk-?/{letters}-0"))
        (target,) = {broker.directory / name for name in ("disk-a", "disk-b")} - {here}
        row = {"topic": letters, "partition": 0, "replicas": [1], "log_dirs": [str(target)]}
        file.write_text(json.dumps({"version": 1, "partitions": [row]}))
        begun = say(script, "--execute", *how, *throttle)

        def is_there() -> bool:
            (progress,) = [
                line for line in both.ours(script, "--verify", *how) if "replica" in line
            ]
            assert "still in progress" in progress or "completed successfully" in progress
            return "completed" in progress

        eventually(is_there, what="it is moved")
        both.same(script, "--verify", *how)
        cancelled = both.same(script, "--cancel", *how, "--preserve-throttles")
        text = "\n".join([*begun, *cancelled]).replace(str(target), "DIR")
        said.append(text.splitlines())
    kafka, ours = said
    assert "Successfully started moving log directory to DIR for replica" in " ".join(kafka)
    assert ours == kafka


def test_records_are_read_and_dumped(both: Both, letters: str, broker: OdradekBroker) -> None:
    """With all that the formatter can print; batches and records with their fields."""
    shown = [f"print.{it}=true" for it in ("key", "offset", "partition", "timestamp", "headers")]
    properties = [word for it in shown for word in ("--property", it)]
    how = ("--topic", letters, "--from-beginning", "--partition", "0", "--max-messages", "4")
    assert len(both.same("kafka-console-consumer", *how, *properties)) == 4
    both.same("kafka-console-consumer", *how)
    files = sorted(broker.directory.glob(f"disk-*/{letters}-*/*.log"))
    named = ",".join(map(str, files))
    dumped = both.same("kafka-dump-log", "--files", named, "--print-data-log")
    assert sum(line.startswith("| offset") for line in dumped) == 8
    both.same("kafka-dump-log", "--files", named)


def test_transactions(both: Both, letters: str) -> None:
    """Listed, described, found in partitions; one that hangs is found and aborted by either."""
    script, name = "kafka-transactions", fresh("mover")
    producer = Producer({"bootstrap.servers": both.odradek.bootstrap, "transactional.id": name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(letters, "a", partition=0)
    producer.flush()
    at = ("--topic", letters, "--partition", "0")
    head, *ours = both.ours(script, "list")
    first, *theirs = both.kafka(script, "list")
    assert (head, sorted(ours)) == (first, sorted(theirs))
    assert any(name in line and "Ongoing" in line for line in ours)
    assert name in " ".join(both.ours(script, "list", "--duration-filter", "0"))
    both.same(script, "list", "--duration-filter", "86400000")
    (row,) = (it for it in both.same(script, "describe-producers", *at)[1:] if "None" not in it)
    both.same(script, "describe-producers", *at, "--broker-id", "1")
    hanging = (script, "find-hanging", "--topic", letters, "--max-transaction-timeout", "0")
    assert len(both.same(*hanging)) == 1, "its coordinator will end it"
    start = row.split()[-1]
    producer.abort_transaction()
    eventually(lambda: all("None" in it for it in both.ours(script, "describe-producers", *at)[1:]))
    described = ("describe", "--transactional-id", name)
    ours, kafka = (say(script, *described) for say in (both.ours, both.kafka))
    duration = ours[0].split().index("TransactionDurationMs")
    for head_or_row in zip(ours, kafka, strict=True):
        words, others = (line.split() for line in head_or_row)
        assert words[:duration] == others[:duration]
        assert words[duration + 1 :] == others[duration + 1 :]
    for wrong in (
        ("abort", *at, "--start-offset", start),
        ("abort", *at),
        ("abort", *at, "--producer-id", "1"),
        ("find-hanging",),
        ("find-hanging", "--broker-id", "1", "--partition", "0"),
    ):
        ended = both.odradek.run(script, *wrong)
        assert (ended.code, ended.out) == (1, ""), wrong


def test_a_transaction_is_aborted_in_its_partition(both: Both, letters: str) -> None:
    """By its start, or by its producer: each script, one after the other."""
    script = "kafka-transactions"
    at = ("--topic", letters, "--partition", "0")
    for say in both.either:
        for by_start in (True, False):
            name = fresh("mover")
            settings = {"bootstrap.servers": both.odradek.bootstrap, "transactional.id": name}
            producer = Producer(settings)
            producer.init_transactions()
            producer.begin_transaction()
            producer.produce(letters, "a", partition=0)
            producer.flush()
            rows = [line.split() for line in both.ours(script, "describe-producers", *at)[1:]]
            (row,) = (it for it in rows if it[-1] != "None")
            named = ("--producer-id", row[0], "--producer-epoch", row[1])
            how = ("--start-offset", row[-1]) if by_start else named
            assert (
                say(
                    script,
                    "abort",
                    *at,
                    *how,
                    *(() if by_start else ("--coordinator-epoch", row[2])),
                )
                == []
            )
            rows = [line.split() for line in both.ours(script, "describe-producers", *at)[1:]]
            assert all(it[-1] == "None" for it in rows)


def test_features(both: Both) -> None:
    """Described, and what is tried or refused, with the same words."""
    script = "kafka-features"
    (line,) = both.same(script, "describe")
    assert line.startswith("Feature: transaction.version\tSupportedMinVersion: 0\t")
    up = ("upgrade", "--feature", "transaction.version=1")
    assert both.same(script, *up, "--dry-run") == ["transaction.version can be upgraded to 1."]
    assert both.same(script, *up) == ["transaction.version was upgraded to 1."]
    down = ("downgrade", "--feature", "transaction.version=0")
    assert both.same(script, *down, "--dry-run") == ["transaction.version can be downgraded to 0."]
    disable = ("disable", "--feature", "transaction.version")
    assert both.ours(script, *disable) == ["transaction.version was disabled."]
    assert both.kafka(script, *up) == ["transaction.version was upgraded to 1."]
    assert both.kafka(script, *disable) == ["transaction.version was disabled."]
    for wrong in (
        ("upgrade", "--feature", "transaction.version=99"),
        ("upgrade", "--feature", "no.such=1"),
    ):
        ended = both.odradek.run(script, *wrong)
        failed = both.java.oracle.ask(
            "tool",
            main=MAINS[script],
            arguments=["--bootstrap-server", both.odradek.bootstrap, *wrong],
        )
        assert ended.code == failed["status"] == 1
        assert lines(ended.out)[0] in lines(failed["said"])
    for misused in ((), ("--feature", "a"), ("--feature", "a=b"), ("--metadata", "3.3-IV3")):
        assert both.odradek.run(script, "upgrade", *misused).code == 1


def test_offsets_are_dumped(both: Both, letters: str, broker: OdradekBroker) -> None:
    """Positions, members with what they subscribe to, and what was deleted, as Kafka reads them."""
    name = fresh("readers")
    both.odradek("consume", letters, "-g", name, "-e")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": name})
    consumer.subscribe([letters])
    eventually(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()))
    consumer.close()
    both.odradek("group", "delete", name, "--yes")
    found = sorted(broker.directory.glob(f"*/{GROUP_METADATA_TOPIC}-*/*.log"))
    (file,) = (path for path in found if name.encode() in path.read_bytes())
    dumped = both.same("kafka-dump-log", "--files", str(file), "--offsets-decoder")
    about = [line for line in dumped if f'"{name}"' in line]
    assert any('"data":{"offset":' in line for line in about), about
    assert any(f'"subscription":{{"topics":["{letters}"]' in line for line in about)
    assert any("payload: <DELETE>" in line for line in about)


def test_records_are_written(both: Both, topic: str) -> None:
    """Lines with keys; nothing is printed."""
    properties = ("--property", "parse.key=true", "--property", "key.separator=:")
    script = "kafka-console-producer"
    ended = both.odradek(script, "--topic", topic, *properties, said=b"a:1\nb:2\n")
    assert (ended.out, ended.err) == ("", "")
    found = both.odradek("consume", topic, "-e", "-f", "%k=%s ").out
    assert sorted(found.split()) == ["a=1", "b=2"]


def test_how_fast_it_is(both: Both, topic: str) -> None:
    """The lines of the performance tests have the fields that Kafka's have."""
    size = ("--num-records", "500", "--record-size", "10", "--throughput", "-1")
    where = ("--topic", topic)
    settings = ("--producer-props", "acks=all", f"bootstrap.servers={both.odradek.bootstrap}")
    (said,) = both.ours("kafka-producer-perf-test", *where, *size, *settings)
    answer = both.java.oracle.ask(
        "tool",
        main=f"{TOOLS}.ProducerPerformance",
        arguments=[*where, *size, *settings],
    )
    assert without_numbers(said) == without_numbers(answer["said"].strip())
    head, row = both.ours("kafka-consumer-perf-test", *where, "--messages", "500")
    assert row.count(",") == head.count(",")
    assert row.split(", ")[4] == "1000"


def without_numbers(text: str) -> str:
    """Only the words."""
    return "".join(letter for letter in text if not letter.isdigit())


def test_no_partitions_are_no_default(odradek: Shell) -> None:
    """A zero is refused by the broker, as by Kafka's."""
    ended = odradek.run("kafka-topics", "--create", "--topic", fresh("none"), "--partitions", "0")
    assert ended.code == 1
    assert ended.out.startswith("Error while executing topic command : ")


def test_scripts_that_look_for_a_sentence_find_it(odradek: Shell, letters: str) -> None:
    """Many of them go on where a topic "already exists"."""
    ended = odradek.run("kafka-topics", "--create", "--topic", letters)
    said = f"Error while executing topic command : Topic '{letters}' already exists.\n"
    assert (ended.code, ended.out) == (1, said)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_called_wrongly_ends_with_1(odradek: Shell, script: str) -> None:
    """With a sentence on stderr; also under the name with `.sh`."""
    ended = odradek.run(f"{script}.sh", "--no-such-option")
    assert (ended.code, ended.out) == (1, "")
    assert "--no-such-option" in ended.err
