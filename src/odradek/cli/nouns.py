"""The nouns of the command, each with its line of help: the one place where a noun is added.

A noun is the last part of its module's name, with `-` for `_`. The module is imported when it is
called; it holds its click command under the name `command`, whose help begins with the same line.
"""

from typing import Final

ROWS: Final[dict[str, dict[str, str]]] = {
    "Clusters": {
        "brokers.cluster": "The cluster: its brokers, controller and health.",
        "brokers.controller": "The controller: describe, move, prefer brokers for it, history.",
        "brokers.broker": "Brokers: list them, show one, empty one.",
        "replicas.partition": "Partitions: reassign replicas, elect leaders, throttle.",
        "records.topic": "Topics: create, list, describe, alter, trim, delete.",
        "records.group": "Consumer groups: list, describe, reset offsets, delete.",
        "access.user": "Users with a SCRAM password: list, add, remove.",
        "access.quota": "Quotas of users, clients, addresses: list, set, remove.",
        "access.acl": "Access rules (ACLs): list, add, remove.",
        "access.security": "What a principal may do and why; which certificates end.",
        "records.config": "Settings of topics and brokers: describe, alter.",
        "replicas.logdirs": "Log dirs: sizes, free space, failures.",
        "records.offsets": "Offsets of partitions: first, last, by time.",
        "records.transaction": "Transactions: list, describe, find and abort those that hang.",
        "records.producer_id": "Producer ids that partitions remember.",
        "diagnosing.doctor": "Find out what keeps a client here from working.",
        "diagnosing.debug": "For who is to help: one archive of what is known of a cluster.",
    },
    "Records": {
        "records.produce": "Produce each line of FILE, or of standard input, as a record.",
        "records.consume": "Print the records of a topic, one a line, until interrupted.",
    },
    "Pipelines": {
        "spark.pipeline": "Pipelines: topics into tables, as a file describes it.",
        "spark.archive": "Archive topics in a table, exactly once.",
        "spark.replay": "Send the rows of a table into a topic again.",
        "spark.verify": "Compare a table with the log: gaps, doubles, content.",
        "spark.audit": "Compare the replicas of partitions with each other.",
        "spark.compact": "Merge a table's small files, forget old versions, delete orphans.",
        "spark.telemetry": "Show what happened in a cluster by its brokers' logs, as an HTML page.",
    },
    "Servers": {
        "serving.up": "Start brokers on this machine, to try things with.",
        "serving.demo": "Show what a cluster does when a broker dies and a disk fails.",
        "serving.serve": "Start a broker with the settings of a properties file.",
        "serving.zookeeper": "The ZooKeeper server that comes with Odradek.",
    },
    "Files": {
        "serving.check": "Check a properties file, and the host it is for.",
        "records.dump_log": "Show the contents of log files, and where they are corrupt.",
    },
    "This command": {
        "context": "Contexts: named clusters, so that --bootstrap can be left out.",
        "completion": "Print the shell's completion script.",
    },
}
"""Every noun's module in `cli`, in the order of the help."""


def _noun(module: str) -> str:
    return module.rpartition(".")[2].replace("_", "-")


SECTIONS: Final[dict[str, dict[str, str]]] = {
    title: {_noun(module): line for module, line in rows.items()} for title, rows in ROWS.items()
}
NOUNS: Final[dict[str, str]] = {
    noun: line for section in SECTIONS.values() for noun, line in section.items()
}
MODULES: Final[dict[str, str]] = {
    _noun(module): f"odradek.cli.{module}" for rows in ROWS.values() for module in rows
}

SCRIPTS: Final = (
    "kafka-topics",
    "kafka-console-producer",
    "kafka-console-consumer",
    "kafka-consumer-groups",
    "kafka-configs",
    "kafka-acls",
    "kafka-log-dirs",
    "kafka-reassign-partitions",
    "kafka-leader-election",
    "kafka-get-offsets",
    "kafka-delete-records",
    "kafka-dump-log",
    "kafka-transactions",
    "kafka-features",
    "kafka-producer-perf-test",
    "kafka-consumer-perf-test",
    "zookeeper-security-migration",
)
"""Kafka's scripts: `odradek kafka-topics` takes what `kafka-topics.sh` takes."""

ELSEWHERE: Final[dict[str, str]] = {
    "kafka-broker-api-versions": "odradek broker apis",
    "kafka-cluster": "odradek cluster describe",
    "kafka-delegation-tokens": "there are no delegation tokens here",
    "kafka-groups": "odradek group list",
    "kafka-metadata-quorum": "odradek cluster describe names the controller",
    "kafka-replica-verification": "Kafka's own script can be pointed at these brokers",
    "kafka-server-start": "odradek serve server.properties",
    "kafka-server-stop": "send SIGTERM to the broker's process",
    "kafka-share-groups": "there are no share groups here",
    "kafka-storage": "log dirs need no formatting here",
    "zookeeper-server-start": "odradek zookeeper serve --data DIRECTORY",
    "zookeeper-shell": "ZooKeeper's own zkCli.sh works with both",
}
"""Scripts of Kafka that are not here, and what is instead."""

ALIASES: Final[dict[str, str]] = {
    "acls": "acl",
    "brokers": "broker",
    "clusters": "cluster",
    "configs": "config",
    "consumer-groups": "group",
    "contexts": "context",
    "groups": "group",
    "log-dirs": "logdirs",
    "partitions": "partition",
    "pipelines": "pipeline",
    "producer-ids": "producer-id",
    "quotas": "quota",
    "start": "serve",
    "topics": "topic",
    "transactions": "transaction",
}
"""Other names under which a noun is found."""


def module_of(script: str) -> str:
    """Where it is found."""
    return script.removeprefix("kafka-").replace("-", "_")
