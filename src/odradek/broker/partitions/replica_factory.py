"""What a replica is made of when it takes a role: its log, its topic's rules, its dir's appends.

The rules follow from the topic's settings, and are replaced when these change.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.broker.partitions.logs.group_commit import GroupCommit
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.broker.partitions.replicas.leading_replica import (
    IsrChanges,
    LeaderDeps,
    LeadingReplica,
    Rules,
)
from odradek.broker.partitions.replicas.produce_rules import ProduceRules
from odradek.broker.partitions.replicas.traffic import Traffics
from odradek.broker.settings import SettingsSource
from odradek.config.rows import replication, topic, transactions
from odradek.config.topic import TopicConfig
from odradek.model.ids import BrokerId
from odradek.ports import Clock
from odradek.replication.leader import Leader
from odradek.replication.leadership import LeaderSettings, LogEnds
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig


class FactoryDeps(NamedTuple):
    """What all replicas of this broker share."""

    settings: SettingsSource
    clock: Clock
    traffics: Traffics
    appends: Mapping[str, GroupCommit]  # of each log dir
    isr_changes: IsrChanges


class _TopicRules(NamedTuple):
    """What follows from a topic's settings for its logs and leaders."""

    log_config: LogConfig
    produce_rules: ProduceRules
    min_isr: int


class ReplicaFactory:
    """Makes replicas, and keeps their rules up to date."""

    def __init__(self, broker_id: BrokerId, deps: FactoryDeps) -> None:
        self._me = broker_id
        self._deps = deps

    def leading(self, found: PartitionLog, state: LeaderAndIsrState) -> LeadingReplica:
        """The leader of a partition; its epoch is not in the log's history yet."""
        deps, name = self._deps, state.partition.topic
        config = deps.settings.topic(name)
        leader, effects = Leader.elected(
            self._me,
            state.leadership,
            LogEnds(
                found.log_end_offset,
                found.high_watermark,
                found.log_start_offset,
                found.incarnation,
            ),
            settings=LeaderSettings(
                lag_max=deps.settings.broker[replication.REPLICA_LAG_TIME_MAX_MS],
                min_isr=config[topic.MIN_INSYNC_REPLICAS],
            ),
            now=deps.clock.monotonic(),
        )
        rules = Rules(ProduceRules.of(config), deps.traffics.of(name))
        appends = deps.appends[found.folder.disk.name]
        replica = LeadingReplica(
            found, leader, rules, LeaderDeps(appends, deps.clock, deps.isr_changes)
        )
        replica.carry_out(effects)
        return replica

    def following(self, found: PartitionLog, state: LeaderAndIsrState) -> FollowingReplica:
        """A follower of the state's leader, if there is one."""
        return FollowingReplica(
            found,
            state.leader,
            state.leadership,
            appends=self._deps.appends[found.folder.disk.name],
            clock=self._deps.clock,
        )

    def on_topic_settings(
        self,
        name: str | None,
        logs: Iterable[PartitionLog],
        leaders: Iterable[LeadingReplica],
    ) -> None:
        """Something was changed for this topic; None: for all."""
        now = self._deps.clock.monotonic()
        known: dict[TopicConfig, _TopicRules] = {}  # topics that set nothing themselves share one
        for log in logs:
            if name is None or log.partition.topic == name:
                log.config = self._rules(log.partition.topic, known).log_config
        for replica in leaders:
            if name is None or replica.partition.topic == name:
                rules = self._rules(replica.partition.topic, known)
                replica.produce_rules = rules.produce_rules
                replica.carry_out(replica.leader.on_min_isr(rules.min_isr, now))

    def _rules(self, name: str, known: dict[TopicConfig, _TopicRules]) -> _TopicRules:
        config = self._deps.settings.topic(name)
        rules = known.get(config)
        if rules is None:
            forgotten_after = self._deps.settings.broker[transactions.PRODUCER_ID_EXPIRATION_MS]
            rules = known[config] = _TopicRules(
                LogConfig.of(config, forgotten_after),
                ProduceRules.of(config),
                config[topic.MIN_INSYNC_REPLICAS],
            )
        return rules
