"""What operators change while things go wrong: settings, replicas, leaders, starts of logs.

Each is a fault, so that it is drawn, counted and left out like others; each world has a few, drawn
by the weights in `CHANGES`. In every other strike one broker hears of it late. Noted, before
anybody can have heard of it: `min_isr.may_be` topic, or "" for all, and value; `unclean.may_be`
topic; `records.may_go` topic, partition, and the offset below which records are deleted.
`records.went` has the same, once that was acknowledged.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from odradek.client.admin import admin
from odradek.client.admin.placement import Election, elect, reassign
from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.ids import TopicPartition
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event
from odradek.sim.picture import STATE
from odradek.sim.worlds.cluster.clients.users import PLAIN, SHARED
from odradek.sim.worlds.cluster.misfortunes.by_hand import (
    OddBatches,
    PlanByHand,
    StateByHand,
    TopicByHand,
)
from odradek.sim.worlds.cluster.misfortunes.change import ALL_JUDGED, JUDGED, Change
from odradek.sim.worlds.cluster.misfortunes.rare_faults import OfCluster

ALL_BROKERS: Final = ""  # the entity that has what holds for each
MIN_ISR: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
SEGMENT: Final = "segment.bytes"
RETENTION: Final = "retention.ms"
POLICY: Final = "cleanup.policy"
BACK_SECONDS: Final = (0, 5, 15)
"""So long after the end what was changed is changed back; the cluster may be away for a moment."""
MIN_ISRS: Final = ("1", "1", "2", "3")
REPLICAS: Final = (1, 1, 2, 3, 3)


class SettingChange(Change):
    """A setting becomes another, and in the end what it was."""

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._changed: dict[tuple[int, str], set[str]] = {}

    def set(self, kind: int, name: str, to: Mapping[str, str], chance: SeededRandom) -> None:
        """Of a topic, or of all brokers."""
        self._changed.setdefault((kind, name), set()).update(to)
        self.ask(lambda cluster: admin.alter_settings(cluster, kind, name, to=to), chance)

    def unset(self, kind: int, name: str, *settings: str) -> None:
        """As if it had never been set."""
        self.hands.in_cluster(
            lambda cluster: admin.alter_settings(cluster, kind, name, to={}, delete=settings)
        )

    def heal(self) -> None:
        """As in the beginning."""
        super().heal()
        for seconds in BACK_SECONDS if self._changed else ():
            self.world.after(seconds * SECOND, self._change_back)

    def _change_back(self) -> None:
        for (kind, name), settings in self._changed.items():
            self.unset(kind, name, *sorted(settings))


class MinIsrOfTopic(SettingChange):
    """min.insync.replicas of a topic, at any time or as people do: lowered in an emergency.

    That is when the ISR of one of its partitions is too small; later it is raised again, and just
    then its leader is stopped, or not.
    """

    name = "min-isr-of-topic"
    weight = 4

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._awaited: Callable[[str], None] | None = None  # an emergency
        cluster.world.history.watch(self._on_change, {STATE})

    def strike(self, chance: SeededRandom) -> str | None:
        """One topic, at once or once its ISR is too small."""
        topic = JUDGED[chance.below(len(JUDGED))]
        if chance.below(3):
            self._awaited = partial(self._lower, chance, topic)
            return f"{topic} in an emergency"
        value = MIN_ISRS[chance.below(len(MIN_ISRS))]
        self._set(chance, topic, value)
        return f"{topic} {value}"

    def _set(self, chance: SeededRandom, topic: str, value: str) -> None:
        self.note("min_isr.may_be", topic, int(value))
        self.set(admin.TOPIC, topic, {MIN_ISR: value}, chance)

    def _on_change(self, event: Event) -> None:
        partition, leader, _, isr = event.details
        if self._awaited is not None and leader >= 0 and len(isr) == 1:
            awaited = self._awaited
            self.world.after(0, lambda: awaited(partition))

    def _lower(self, chance: SeededRandom, topic: str, partition: str) -> None:
        if self._awaited is None or not partition.startswith(f"{topic}-"):
            return
        self._awaited = None
        self._set(chance, topic, "1")
        delay = self.later(chance)
        self.world.after(delay, partial(self._set, chance, topic, "2"))
        if chance.below(2):
            delay += chance.below(SECOND)
            self.world.after(delay, partial(self.stop_leader, chance, partition))

    def heal(self) -> None:
        """There are no more emergencies."""
        self._awaited = None
        super().heal()


class MinIsrOfBrokers(SettingChange):
    """min.insync.replicas of all topics that have none of their own."""

    name = "min-isr-of-brokers"
    weight = 2

    def strike(self, chance: SeededRandom) -> str | None:
        """Another value, or that of the files again."""
        if not chance.below(3):
            self.unset(admin.BROKER, ALL_BROKERS, MIN_ISR)
            return "none"
        value = MIN_ISRS[chance.below(len(MIN_ISRS))]
        self.note("min_isr.may_be", "", int(value))
        self.set(admin.BROKER, ALL_BROKERS, {MIN_ISR: value}, chance)
        return value


class OfOneBroker(SettingChange):
    """A broker's own setting becomes another, which no other broker has heard of or minds."""

    setting = ""
    values: Sequence[str] = ()

    def strike(self, chance: SeededRandom) -> str | None:
        """Another value, or none."""
        name = str(sorted(self.brokers)[chance.below(len(self.brokers))])
        if not chance.below(3):
            self.unset(admin.BROKER, name, self.setting)
            return f"{name} none"
        value = self.values[chance.below(len(self.values))]
        if self.setting == MIN_ISR:  # it may be the controller, which elects by it
            self.note("min_isr.may_be", "", int(value))
        self.set(admin.BROKER, name, {self.setting: value}, chance)
        return f"{name} {value}"


class MinIsrOfOneBroker(OfOneBroker):
    """min.insync.replicas where that broker leads; what the controller decides by is its own."""

    name = "min-isr-of-one-broker"
    weight = 3
    setting = MIN_ISR
    values = MIN_ISRS


class RetentionOfOneBroker(OfOneBroker):
    """That broker deletes after a moment what all others keep, of topics that say nothing."""

    name = "retention-of-one-broker"
    weight = 2
    setting = "log.retention.ms"
    values = ("0", "1000", "10000")


class NumberOfReplicas(Change):
    """A partition gets fewer replicas, or more, elsewhere or not; perhaps that is cancelled."""

    name = "number-of-replicas"
    weight = 4

    def strike(self, chance: SeededRandom) -> str | None:
        """One of those whose records are judged."""
        partition = self.one_of(ALL_JUDGED, chance)
        if partition is None:
            return None
        left = sorted(self.brokers)
        count = REPLICAS[chance.below(len(REPLICAS))]
        target = [left.pop(chance.below(len(left))) for _ in range(count)]
        self.ask(lambda cluster: reassign(cluster, {partition: target}), chance)
        if not chance.below(3):
            self.world.after(self.later(chance), partial(self._cancel, partition))
        return f"{partition} {target}"

    def _cancel(self, partition: TopicPartition) -> None:
        self.hands.in_cluster(lambda cluster: reassign(cluster, {partition: None}))


class UncleanElections(SettingChange):
    """Any living broker may lead one topic for a while, or one partition at once."""

    name = "unclean-elections"
    weight = 2

    def strike(self, chance: SeededRandom) -> str | None:
        """By the setting, or by hand where there is no leader."""
        partition = self.one_of(ALL_JUDGED, chance)
        if partition is None:
            return None
        self.note("unclean.may_be", partition.topic)
        if chance.below(2):
            self.ask(lambda cluster: elect(cluster, Election.UNCLEAN, [partition]), chance)
            return str(partition)
        self.set(admin.TOPIC, partition.topic, {UNCLEAN: "true"}, chance)
        back = partial(self.unset, admin.TOPIC, partition.topic, UNCLEAN)
        self.world.after(self.later(chance), back)
        return partition.topic


class DeletedRecords(Change):
    """Records of a partition are deleted, from its start up to some offset.

    In every other strike the leader that has acknowledged that is stopped right afterwards.
    """

    name = "deleted-records"
    weight = 3

    def strike(self, chance: SeededRandom) -> str | None:
        """All that are committed, or some of them."""
        partition = self.one_of(ALL_JUDGED, chance)
        if partition is None:
            return None
        self.ask(partial(self._delete, partition, chance), chance)
        return str(partition)

    async def _delete(
        self, partition: TopicPartition, chance: SeededRandom, cluster: Cluster
    ) -> None:
        (start,) = (await offsets_at(cluster, [partition], EARLIEST)).values()
        (end,) = (await offsets_at(cluster, [partition], LATEST)).values()
        before = start + chance.below(end - start + 1)
        self.note("records.may_go", *partition, before)
        (told,) = (await admin.delete_records(cluster, {partition: before})).values()
        self.note("records.went", *partition, told)
        if chance.below(2):
            self.stop_leader(chance, str(partition))


class SegmentSize(SettingChange):
    """Segments become large, or so small that not every batch that is stored would fit."""

    name = "segment-bytes"
    weight = 2

    def strike(self, chance: SeededRandom) -> str | None:
        """Of one topic."""
        topic = ALL_JUDGED[chance.below(len(ALL_JUDGED))]
        value = str(64 << chance.below(10))
        self.set(admin.TOPIC, topic, {SEGMENT: value}, chance)
        return f"{topic} {value}"


class Retention(SettingChange):
    """Records are dropped after a moment, or are kept."""

    name = "retention-ms"
    weight = 2

    def strike(self, chance: SeededRandom) -> str | None:
        """Of topics of which no record is missed."""
        topic = (PLAIN, SHARED)[chance.below(2)]
        value = ("0", "1000", "10000", "-1")[chance.below(4)]
        self.set(admin.TOPIC, topic, {RETENTION: value}, chance)
        return f"{topic} {value}"


class CleanupPolicy(SettingChange):
    """A topic is compacted for a while, or compacted and deleted."""

    name = "cleanup-policy"
    weight = 1

    def strike(self, chance: SeededRandom) -> str | None:
        """The one that all change."""
        value = ("compact", "delete", "compact,delete")[chance.below(3)]
        self.set(admin.TOPIC, SHARED, {POLICY: value}, chance)
        return value


CHANGES: Final[Sequence[type[Change]]] = (
    MinIsrOfTopic,
    MinIsrOfBrokers,
    MinIsrOfOneBroker,
    NumberOfReplicas,
    UncleanElections,
    DeletedRecords,
    SegmentSize,
    Retention,
    RetentionOfOneBroker,
    CleanupPolicy,
    OddBatches,
    PlanByHand,
    StateByHand,
    TopicByHand,
)
CHANGES_IN_A_WORLD: Final = 3


def changes_of(cluster: OfCluster, chance: SeededRandom) -> list[Change]:
    """A few of them, the weightier ones more often."""
    left = [it for it in CHANGES for _ in range(it.weight)]
    drawn: list[type[Change]] = []
    while left and len(drawn) < CHANGES_IN_A_WORLD:
        drawn.append(left[chance.below(len(left))])
        left = [it for it in left if it is not drawn[-1]]
    return [change(cluster) for change in drawn]
