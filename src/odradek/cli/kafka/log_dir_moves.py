"""Moves between log dirs, as `kafka-reassign-partitions` begins and tells of them."""

import asyncio
from typing import NamedTuple

import click

from odradek.cli.replicas.chosen_log_dirs import Chosen, ask_for
from odradek.cli.replicas.log_dir_move import standing
from odradek.cli.replicas.logdirs import log_dirs_of
from odradek.cli.replicas.reassignment_file import Replica
from odradek.cli.words.failing import Failed
from odradek.client.cluster import Cluster

POLL_SECONDS = 0.1


class State(NamedTuple):
    """Where a replica is, and where it shall be."""

    replica: Replica
    target: str
    current: str | None
    future: str | None  # the dir of the copy that is being filled

    @property
    def is_over(self) -> bool:
        """Whether it is in some dir, and not on its way to another."""
        return self.current is not None and self.future is None

    @property
    def text(self) -> str:
        """As Kafka's script says it."""
        partition, broker = self.replica.partition, self.replica.broker
        if self.current is None:
            return (
                f"Partition {partition} is not found in any live log dir on broker {broker}. "
                "There is likely an offline log directory on the broker."
            )
        if self.future == self.target:
            return f"Reassignment of replica {self.replica} is still in progress."
        if self.future is not None:
            return (
                f"Partition {partition} on broker {broker} is being moved to log dir "
                f"{self.future} instead of {self.target}."
            )
        if self.current == self.target:
            return f"Reassignment of replica {self.replica} completed successfully."
        return (
            f"Partition {partition} on broker {broker} is not being moved from log dir "
            f"{self.current} to {self.target}."
        )


async def states_of(cluster: Cluster, chosen: Chosen) -> list[State]:
    """All of them, by broker and partition."""
    there = {
        broker: standing(await log_dirs_of(cluster, broker))
        for broker in sorted({it.broker for it in chosen})
    }
    found = []
    for replica, target in sorted(chosen.items()):
        current, future = (
            where[replica.partition].log_dir if replica.partition in where else None
            for where in there[replica.broker]
        )
        found.append(State(replica, target, current, future))
    return found


async def begin(cluster: Cluster, chosen: Chosen, timeout_ms: int) -> None:
    """Asks until each has begun: a broker may have to get its replica first."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1_000
    pending = dict(chosen)
    while pending:
        for replica in sorted(await ask_for(cluster, pending)):
            click.echo(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica "
                f"{replica.partition} with broker {replica.broker}"
            )
        if pending and loop.time() >= deadline:
            word = "move" if len(pending) == 1 else "moves"
            names = ",".join(map(str, sorted(pending)))
            raise Failed(f"Timed out before log directory {word} could be started for: {names}")
        if pending:
            await asyncio.sleep(POLL_SECONDS)
