"""What `--throttle` of a reassignment sets, and `--verify` takes back.

The brokers that take part get a rate; their topics name the replicas that it holds for: those that
send, which are there, and those that fetch, which are added.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import click

from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.model.ids import TopicPartition

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"

Replicas = Mapping[TopicPartition, Sequence[int]]


def warn() -> None:
    """That a throttle stays until it is taken back."""
    click.echo(
        "Warning: You must run --verify periodically, until the reassignment completes, "
        "to ensure the throttle is removed."
    )


async def limit(cluster: Cluster, before: Replicas, wanted: Replicas, rate: int) -> None:
    """Nothing comes from another broker faster than this many bytes in a second."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for it, replicas in sorted(wanted.items()):
        there = before[it]
        added = [broker for broker in replicas if broker not in there]
        leaders.setdefault(it.topic, []).extend(f"{it.partition}:{broker}" for broker in there)
        followers.setdefault(it.topic, []).extend(f"{it.partition}:{broker}" for broker in added)
    for topic, names in leaders.items():
        said = {LEADER_REPLICAS: ",".join(names), FOLLOWER_REPLICAS: ",".join(followers[topic])}
        await admin.alter_settings(cluster, admin.TOPIC, topic, to=said)
    rates = dict.fromkeys((LEADER_RATE, FOLLOWER_RATE), str(rate))
    for broker in _brokers(before, wanted):
        await admin.alter_settings(cluster, admin.BROKER, str(broker), to=rates)
    click.echo(f"The inter-broker throttle limit was set to {rate} B/s")


async def limit_log_dirs(cluster: Cluster, brokers: Collection[int], rate: int) -> None:
    """Nothing moves between the log dirs of a broker faster than this many bytes in a second."""
    for broker in sorted(brokers):
        await admin.alter_settings(
            cluster, admin.BROKER, str(broker), to={LOG_DIRS_RATE: str(rate)}
        )
    click.echo(f"The replica-alter-dir throttle limit was set to {rate} B/s")


async def lift(cluster: Cluster, wanted: Replicas) -> None:
    """Every broker and these topics are as they were without any throttle."""
    brokers = sorted(cluster.brokers)
    click.echo(f"Clearing broker-level throttles on broker{_s(brokers)} {_list(brokers)}")
    for broker in brokers:
        rates = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
        await admin.alter_settings(cluster, admin.BROKER, str(broker), to={}, delete=rates)
    topics = sorted({it.topic for it in wanted})
    click.echo(f"Clearing topic-level throttles on topic{_s(topics)} {_list(topics)}")
    for topic in topics:
        names = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
        await admin.alter_settings(cluster, admin.TOPIC, topic, to={}, delete=names)


def _brokers(*assignments: Replicas) -> list[int]:
    return sorted({it for them in assignments for replicas in them.values() for it in replicas})


def _s(them: Collection[object]) -> str:
    return "" if len(them) == 1 else "s"


def _list(them: Collection[object]) -> str:
    return ",".join(map(str, them))
