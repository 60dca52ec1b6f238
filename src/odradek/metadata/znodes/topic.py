"""/brokers/topics: each topic with its assignment, each partition with its state.

The topic's znode is the only durable record of an assignment; its version 2 brought what a
reassignment adds and removes (KIP-455), version 3 the topic's id (KIP-516). Kafka 3.9 writes
version 3 even where there is no id, and so do we.
"""

import re
from typing import Final

from odradek.metadata.json_body import INT64_MAX, Body, MalformedZnode, encoded, whole_number
from odradek.metadata.nouns import Assignment, PartitionState, TopicAssignment
from odradek.model.ids import (
    NO_BROKER,
    BrokerId,
    TopicId,
    TopicPartition,
    topic_id_from_text,
    topic_id_text,
)
from odradek.model.names import topic_name_fault
from odradek.model.positions import ControllerEpoch, Incarnation, LeaderEpoch, PartitionEpoch

_NUMBER: Final = rb"(?:0|[1-9]\d{0,8})"
_PLAIN_STATE: Final = re.compile(
    rb'\{"controller_epoch":(%b),"leader":(-1|%b),"version":1,"leader_epoch":(%b),'
    rb'"isr":\[(%b(?:,%b)*)\]\}'.replace(b"%b", _NUMBER)
)
RECOVERING: Final = 1  # the one value of leader_recovery_state that is written


class TopicsZnode:
    """The topics there are: its children's names."""

    PATH: Final = "/brokers/topics"

    @classmethod
    def decode_name(cls, name: str) -> str:
        """The topic that a child stands for."""
        return legal_topic(f"{cls.PATH}/{name[:80]}", name)


class TopicZnode:
    """One topic."""

    @staticmethod
    def path(topic: str) -> str:
        """Where its assignment is."""
        return f"{TopicsZnode.PATH}/{topic}"

    @staticmethod
    def encode(topic: TopicAssignment) -> bytes:
        """Version 3; only partitions that are being reassigned stand in the last two maps."""
        partitions = sorted(topic.partitions.items())
        topic_id = {} if topic.topic_id is None else {"topic_id": topic_id_text(topic.topic_id)}
        return encoded(
            {
                "partitions": {str(number): it.replicas for number, it in partitions},
                **topic_id,
                "adding_replicas": {str(n): it.adding for n, it in partitions if it.adding},
                "removing_replicas": {str(n): it.removing for n, it in partitions if it.removing},
                "version": 3,
            }
        )

    @classmethod
    def decode(cls, topic: str, data: bytes | None) -> TopicAssignment:
        """All versions."""
        path = cls.path(topic)
        body = Body.parse(path, data)
        body.integer("version", low=1)
        replicas = _brokers_by_partition(path, body, "partitions", required=True)
        adding = _brokers_by_partition(path, body, "adding_replicas")
        removing = _brokers_by_partition(path, body, "removing_replicas")
        partitions = {
            number: Assignment(named, adding.get(number, ()), removing.get(number, ()))
            for number, named in sorted(replicas.items())
        }
        if not partitions:  # otherwise brokers would believe that theirs are no more
            body.refuse("partitions", {}, "at least one partition")
        for number, assignment in partitions.items():
            if not assignment.replicas:
                body.refuse("partitions", number, "at least one replica for each partition")
            if not {*assignment.adding, *assignment.removing} <= {*assignment.replicas}:
                body.refuse("adding_replicas", assignment, "nothing but replicas")
        return TopicAssignment(partitions, _topic_id(body))


class PartitionZnode:
    """The two znodes above a partition's state, which hold nothing."""

    @staticmethod
    def parent(topic: str) -> str:
        """Above all partitions of the topic."""
        return f"{TopicZnode.path(topic)}/partitions"

    @classmethod
    def path(cls, partition: TopicPartition) -> str:
        """Above the state of one."""
        return f"{cls.parent(partition.topic)}/{partition.partition}"

    @staticmethod
    def were_removed(cversion: int, num_children: int) -> bool:
        """Whether a znode above has had children that it has no more: a person took them.

        A cversion counts each child that was made and each that was removed. A deletion removes
        the topic's znode with them, and that of the next topic of the name counts anew.
        """
        return cversion > num_children


class PartitionStateZnode:
    """Who leads a partition, and who is in sync. Its version is the partition epoch."""

    SUFFIX: Final = "/state"

    @staticmethod
    def path(partition: TopicPartition) -> str:
        """Where the state is."""
        return f"{TopicsZnode.PATH}/{partition.topic}/partitions/{partition.partition}/state"

    @staticmethod
    def encode(state: PartitionState) -> bytes:
        """Its version is not in the bytes; marks that say nothing are left out.

        Kafka does not know the last three and passes over them.
        """
        leader = NO_BROKER if state.leader is None else state.leader
        recovery = f'"leader_recovery_state":{RECOVERING},' if state.recovering else ""
        extra = ""
        if state.eligible:
            extra = (
                f',"eligible_replicas":[{_listed(state.eligible)}]'
                f',"eligible_min_isr":{state.eligible_min_isr}'
            )
        if state.incarnations:
            listed = ",".join(f'"{broker}":{number}' for broker, number in state.incarnations)
            extra += f',"incarnations":{{{listed}}}'
        return (
            f'{{"controller_epoch":{state.controller_epoch},"leader":{leader},"version":1,{recovery}'
            f'"leader_epoch":{state.leader_epoch},"isr":[{_listed(state.isr)}]{extra}}}'
        ).encode()

    @classmethod
    def decode(cls, partition: TopicPartition, data: bytes | None, version: int) -> PartitionState:
        """The state, with the version of its znode."""
        plain = _PLAIN_STATE.fullmatch(data or b"")
        if plain is not None:
            found = _plain(plain, version)
            if found is not None:
                return found
        body = Body.parse(cls.path(partition), data)
        leader = BrokerId(body.integer("leader", low=NO_BROKER))
        recovering = body.has("leader_recovery_state") and bool(
            body.integer("leader_recovery_state", low=0, high=RECOVERING)
        )
        eligible, eligible_min_isr = _eligible(body)
        return PartitionState(
            leader=None if leader == NO_BROKER else leader,
            leader_epoch=LeaderEpoch(body.integer("leader_epoch", low=0)),
            isr=tuple(map(BrokerId, body.distinct_integers("isr"))),
            partition_epoch=PartitionEpoch(version),
            controller_epoch=ControllerEpoch(body.integer("controller_epoch", low=0)),
            recovering=recovering,
            eligible=eligible,
            eligible_min_isr=eligible_min_isr,
            incarnations=_incarnations(cls.path(partition), body),
        )


def _plain(state: re.Match[bytes], version: int) -> PartitionState | None:
    """The state as almost all are written: a new controller reads one for each partition."""
    leader, isr = int(state[2]), tuple([BrokerId(int(it)) for it in state[4].split(b",")])
    if len(set(isr)) != len(isr):
        return None
    return PartitionState(
        leader=None if leader == NO_BROKER else BrokerId(leader),
        leader_epoch=LeaderEpoch(int(state[3])),
        isr=isr,
        partition_epoch=PartitionEpoch(version),
        controller_epoch=ControllerEpoch(int(state[1])),
    )


def _listed(brokers: tuple[BrokerId, ...]) -> str:
    return ",".join(map(str, brokers))


def _eligible(body: Body) -> tuple[tuple[BrokerId, ...], int]:
    """Without the number under which they were named nothing is known of them."""
    if not (body.has("eligible_replicas") and body.has("eligible_min_isr")):
        return (), 0
    min_isr = body.integer("eligible_min_isr", low=1)
    return tuple(map(BrokerId, body.distinct_integers("eligible_replicas"))), min_isr


def _incarnations(path: str, body: Body) -> tuple[tuple[BrokerId, Incarnation], ...]:
    if not body.has("incarnations"):
        return ()
    found = body.body("incarnations")
    return tuple(
        (
            BrokerId(whole_number(f"{path}: incarnations", name)),
            Incarnation(found.integer(name, low=1, high=INT64_MAX)),
        )
        for name in found.names()
    )


def legal_topic(path: str, name: str) -> str:
    """A topic's name from a znode: it becomes part of paths, here and on disk."""
    fault = topic_name_fault(name)
    if fault is not None:
        raise MalformedZnode(f"{path}: {fault}")
    return name


def _brokers_by_partition(
    path: str, body: Body, name: str, *, required: bool = False
) -> dict[int, tuple[BrokerId, ...]]:
    if not required and not body.has(name):
        return {}
    lists = body.body(name)
    return {
        whole_number(f"{path}: {name}", number): tuple(
            map(BrokerId, lists.distinct_integers(number))
        )
        for number in lists.names()
    }


def _topic_id(body: Body) -> TopicId | None:
    if not body.has("topic_id"):
        return None
    text = body.text("topic_id")
    try:
        return topic_id_from_text(text)
    except ValueError:
        body.refuse("topic_id", text, "a topic id")
