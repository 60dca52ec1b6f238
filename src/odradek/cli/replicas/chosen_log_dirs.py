"""Log dirs that a reassignment chooses for its replicas (KIP-113).

A broker is asked before it gets a replica: it remembers the dir, and makes the log there. A replica
that it has already moves to the dir while it is served.
"""

from collections.abc import Collection, Mapping
from functools import partial

from odradek.cli.replicas.log_dir_move import Moves, Rows, check_target
from odradek.cli.replicas.logdirs import log_dirs_of
from odradek.cli.replicas.reassignment_file import Replica
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition

Chosen = Mapping[Replica, str]


def _by_dir(chosen: Chosen) -> dict[tuple[BrokerId, str], list[TopicPartition]]:
    found: dict[tuple[BrokerId, str], list[TopicPartition]] = {}
    for replica, log_dir in sorted(chosen.items()):
        found.setdefault((replica.broker, log_dir), []).append(replica.partition)
    return found


async def check(cluster: Cluster, chosen: Chosen) -> None:
    """Refuses a dir that is unknown or offline, before anything is begun."""
    for broker, log_dir in _by_dir(chosen):
        check_target(broker, log_dir, await log_dirs_of(cluster, broker))


async def ask_for(cluster: Cluster, chosen: Chosen) -> set[Replica]:
    """Those that are in their dir, or on their way; of the others there is no replica yet."""
    found: set[Replica] = set()
    for (broker, log_dir), partitions in _by_dir(chosen).items():
        codes = await admin.move_replicas(cluster, broker, log_dir, partitions)
        for partition, code in codes.items():
            replica = Replica(broker, partition)
            if code is ErrorCode.NONE:
                found.add(replica)
            elif code is not ErrorCode.REPLICA_NOT_AVAILABLE:
                raise Refused(code, about=f"Failed to alter dir for {replica}")
    return found


async def remember(
    cluster: Cluster, chosen: Chosen, before: Mapping[TopicPartition, Collection[int]]
) -> None:
    """Tells brokers that have no replica yet in which dir it shall be made."""
    added = {it: log_dir for it, log_dir in chosen.items() if it.broker not in before[it.partition]}
    await ask_for(cluster, added)


async def move(cluster: Cluster, chosen: Chosen, *, dry_run: bool, wait: bool) -> tuple[Rows, bool]:
    """A row for each replica that is elsewhere, and whether one could not be moved."""
    every = [
        Moves(broker, log_dir, partitions, partial(log_dirs_of, cluster, broker))
        for (broker, log_dir), partitions in _by_dir(chosen).items()
    ]
    for moves in every:
        await moves.begin(cluster, dry_run=dry_run)
    if wait:
        for moves in every:
            await moves.wait()
    rows: Rows = [
        (partition, f"{moves.broker}:{source}", f"{moves.broker}:{target}", size, state)
        for moves in every
        for partition, source, target, size, state in moves.rows()
        if state != "is there"
    ]
    return rows, any(moves.failed for moves in every)
