"""The nouns of the command, each with its line of help: the one place where a noun is added.

A noun's module, `cli/<noun>.py` with `_` for `-`, is imported when the noun is called; it holds its
click command under the name `command`, whose help begins with the same line.
"""

from typing import Final

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Clusters": {
        "cluster": "The cluster: its brokers, controller and health.",
        "controller": "The controller: describe, move, prefer brokers for it, history.",
        "broker": "Brokers: list them, show one, empty one.",
        "partition": "Partitions: reassign replicas, elect leaders, throttle.",
        "topic": "Topics: create, list, describe, alter, trim, delete.",
        "group": "Consumer groups: list, describe, reset offsets, delete.",
        "user": "Users with a SCRAM password: list, add, remove.",
        "quota": "Quotas of users, clients, addresses: list, set, remove.",
        "acl": "Access rules (ACLs): list, add, remove.",
        "security": "What a principal may do and why; which certificates end.",
        "config": "Settings of topics and brokers: describe, alter.",
        "logdirs": "Log dirs: sizes, free space, failures.",
        "offsets": "Offsets of partitions: first, last, by time.",
        "transaction": "Transactions: list, describe, find and abort those that hang.",
        "producer-id": "Producer ids that partitions remember.",
        "doctor": "Find out what keeps a client here from working.",
        "debug": "For who is to help: one archive of what is known of a cluster.",
    },
    "Records": {
        "produce": "Produce each line of FILE, or of standard input, as a record.",
        "consume": "Print the records of a topic, one a line, until interrupted.",
    },
    "Pipelines": {
        "pipeline": "Pipelines: topics into tables, as a file describes it.",
        "archive": "Archive topics in a table, exactly once.",
        "replay": "Send the rows of a table into a topic again.",
        "verify": "Compare a table with the log: gaps, doubles, content.",
        "audit": "Compare the replicas of partitions with each other.",
        "compact": "Merge a table's small files, forget old versions, delete orphans.",
        "telemetry": "Show what happened in a cluster, out of its brokers' logs, as one HTML page.",
    },
    "Servers": {
        "up": "Start brokers on this machine, to try things with.",
        "demo": "Show what a cluster does when a broker dies and a disk fails.",
        "serve": "Start a broker with the settings of a properties file.",
        "zookeeper": "The ZooKeeper server that comes with Odradek.",
    },
    "Files": {
        "check": "Check a properties file, and the host it is for.",
        "dump-log": "Show the contents of log files, and where they are corrupt.",
    },
    "This command": {
        "context": "Contexts: named clusters, so that --bootstrap can be left out.",
        "completion": "Print the shell's completion script.",
    },
}
"""Every noun, in the order of the help."""

NOUNS: Final[dict[str, str]] = {
    noun: line for section in SECTIONS.values() for noun, line in section.items()
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
