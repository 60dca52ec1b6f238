"""How far reassignments are: bytes that added replicas have of what their leaders have.

A partition that is over counts as whole. Where nothing was written yet partitions are counted.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import click

from odradek.cli.replicas.logdirs import log_dirs_of
from odradek.cli.showing.cells import Size
from odradek.cli.showing.progress import Pace, progress
from odradek.client.admin.placement import reassignments
from odradek.client.cluster import Cluster
from odradek.model.ids import BrokerId, TopicPartition
from odradek.peers.errors import ConnectionGone
from odradek.wire.messages.metadata import MetadataResponse

POLL_SECONDS: Final = 0.5
LEADER_LOOKS: Final = 4
"""So many polls lie between two looks at leaders, and at two looks there was none."""
GONE_SECONDS: Final = 10.0
"""A broker that is not registered for so long does not come back soon."""
Targets = Mapping[TopicPartition, tuple[int, ...]]
Sizes = dict[tuple[TopicPartition, int], int]


async def sizes_of(
    cluster: Cluster, brokers: set[int], partitions: Iterable[TopicPartition] | None = None
) -> Sizes:
    """Bytes of each replica on these brokers; those of brokers that are gone are not known.

    Of these partitions, or of all.
    """
    found: Sizes = {}
    for broker in sorted(brokers & set(cluster.brokers)):
        try:
            log_dirs = await log_dirs_of(cluster, BrokerId(broker), partitions)
        except ConnectionGone:  # it has just gone, and is listed for a moment still
            continue
        for log_dir in log_dirs:
            for topic in log_dir.topics:
                for row in topic.partitions:
                    if not row.is_future_key:
                        where = TopicPartition(topic.name, row.partition_index)
                        found[where, broker] = row.partition_size
    return found


def bytes_to_copy(
    targets: Targets, before: Mapping[TopicPartition, tuple[int, ...]], sizes: Sizes
) -> dict[TopicPartition, int]:
    """What each reassignment copies: the largest replica, as often as replicas are added."""
    return {
        it: max((sizes.get((it, broker), 0) for broker in before[it]), default=0)
        * len(set(target) - set(before[it]))
        for it, target in targets.items()
    }


def waits_for(ongoing: Iterable[TopicPartition], targets: Targets, brokers: Collection[int]) -> str:
    """Which brokers hold a reassignment up because they are gone; empty if none."""
    gone = sorted({broker for it in ongoing for broker in targets[it]} - set(brokers))
    who = f"broker {gone[0]}" if len(gone) == 1 else f"brokers {', '.join(map(str, gone))}"
    return f"waiting for {who} to be registered again" if gone else ""


def waits_for_disk(
    ongoing: Collection[TopicPartition], targets: Targets, answer: MetadataResponse
) -> str:
    """Of a broker that is there: its log dir has failed; empty if none has."""
    for topic in answer.topics:
        for row in topic.partitions:
            it = TopicPartition(topic.name or "", row.partition_index)
            offline = set(row.offline_replicas) & set(targets.get(it, ()))
            if it in ongoing and offline:
                text = f"{it} waits: its replica on broker {min(offline)} is offline"
                return f"{text}, odradek logdirs describe says why"
    return ""


async def wait_for(
    cluster: Cluster,
    targets: Targets,
    before: Mapping[TopicPartition, tuple[int, ...]],
    to_copy: Mapping[TopicPartition, int],
    *,
    gives_up: bool = False,
) -> dict[TopicPartition, str]:
    """Until all are over; on a terminal with a bar and the time that is left.

    Who gives up waits only for partitions that have a leader and targets that are registered: the
    others come back, and why they wait.
    """
    total = sum(to_copy.values())
    added = {broker for it, target in targets.items() for broker in set(target) - set(before[it])}
    leaders, absent, pace = _Leaders(cluster), _Absent(), Pace(POLL_SECONDS)
    what, length = ("copying", Size(total)) if total else ("reassigning", len(targets))
    with progress(what, length) as bar:
        told = ""
        while True:
            ongoing = {it for it in await reassignments(cluster) if it in targets}
            done = len(targets) - len(ongoing)
            if total and bar.is_shown:
                done = sum(to_copy[it] for it in targets if it not in ongoing)
                sizes = await sizes_of(cluster, added, ongoing) if ongoing else {}
                for it in ongoing:
                    new = set(targets[it]) - set(before[it])
                    copied = sum(sizes.get((it, broker), 0) for broker in new)
                    done += min(copied, to_copy[it])
            bar.reach(done)
            if not ongoing:
                return {}
            answer = await cluster.refresh(sorted({it.topic for it in ongoing}))
            held_up = waits_for(ongoing, targets, cluster.brokers)
            held_up = held_up or waits_for_disk(ongoing, targets, answer)
            if gives_up:
                stuck = dict.fromkeys(await leaders.missing(ongoing), NO_LEADER_YET)
                stuck |= absent.among(ongoing, targets, cluster.brokers, pace.now)
                if stuck.keys() == ongoing:
                    return stuck
            if held_up and held_up != told:
                click.echo(f"\n{held_up}; Ctrl-C leaves the move to the cluster", err=True)
            told = held_up
            await pace.rest()


NO_LEADER_YET: Final = "waits: it has no leader"


class _Absent:
    """Which partitions go to a broker that has been away for longer than a restart takes."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def among(
        self,
        ongoing: Iterable[TopicPartition],
        targets: Targets,
        brokers: Collection[int],
        now: float,
    ) -> dict[TopicPartition, str]:
        """Of these, with what each waits for."""
        away = {broker for it in ongoing for broker in targets[it]} - set(brokers)
        self._since = {broker: self._since.get(broker, now) for broker in away}
        known = {*brokers, *(it for it, at in self._since.items() if now - at < GONE_SECONDS)}
        found = {it: waits_for([it], targets, known) for it in ongoing}
        return {it: why for it, why in found.items() if why}


class _Leaders:
    """Which partitions have had no leader for longer than an election takes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._polls = 0
        self._last: set[TopicPartition] = set()
        self._missing: set[TopicPartition] = set()

    async def missing(self, ongoing: set[TopicPartition]) -> set[TopicPartition]:
        """Of these; what was found is believed until the next look."""
        self._polls += 1
        if self._polls % LEADER_LOOKS == 1:
            answer = await self._cluster.refresh(sorted({it.topic for it in ongoing}))
            now = {
                TopicPartition(topic.name or "", row.partition_index)
                for topic in answer.topics
                for row in topic.partitions
                if row.leader_id < 0
            }
            self._missing, self._last = now & self._last, now
        return self._missing & ongoing
