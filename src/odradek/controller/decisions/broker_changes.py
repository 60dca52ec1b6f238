"""Brokers come, go, bounce, shut down, and lose log dirs.

Leaders first: where a broker led, clients wait. Only then it leaves the ISRs of what it followed,
and everybody learns that its replicas are offline. A bounce, which is the same broker in another
life, is a failure and then a start: what it leads and follows is decided anew, because its log may
not be what it was.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.deletions import fail_deletions, resume_deletions
from odradek.controller.decisions.elections import (
    TOGETHER_MAX,
    change_states,
    elect_where_needed,
    look_at_settings,
    lose,
    lose_unclean,
    send,
    shut_down,
)
from odradek.controller.decisions.reassignments import resume_reassignments
from odradek.controller.steps import Connect, Note, Steps
from odradek.metadata.delta import brokers_delta
from odradek.metadata.nouns import Broker
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch, Incarnation


class BrokerNotAvailable(BrokerError):
    """No broker of this number is registered."""

    code = ErrorCode.BROKER_NOT_AVAILABLE


class TooFewPreferred(BrokerError):
    """Too few brokers would be left that shall be the controller."""

    code = ErrorCode.POLICY_VIOLATION


class StaleBrokerEpoch(BrokerError):
    """The request comes from an earlier life of the broker."""

    code = ErrorCode.STALE_BROKER_EPOCH


def on_brokers(context: ControllerContext, found: Iterable[Broker]) -> Steps[None]:
    """These are registered now."""
    before = context.image.brokers
    now = {broker.id: broker for broker in found}
    for broker in now.values():
        known = before.get(broker.id)
        if known is not None and known.epoch > broker.epoch:
            now[broker.id] = known  # an old read
    changed = brokers_delta(before, now)
    if not changed:
        return
    lost = frozenset((*changed.removed, *changed.bounced))
    arrived = frozenset((*changed.added, *changed.bounced))
    yield Note(
        "controller.brokers_changed",
        {"arrived": sorted(arrived), "gone": sorted(changed.removed), "alive": sorted(now)},
    )
    yield Connect(now)
    if lost:
        context.set_brokers(it for it in now.values() if it.id not in arrived)
        yield from _on_lost(context, lost)
    context.set_brokers(now.values())
    if arrived:
        yield from _on_arrived(context, arrived)
    context.batch.has_news = True
    yield from send(context)


def _on_lost(context: ControllerContext, lost: frozenset[BrokerId]) -> Steps[None]:
    """Their partitions get other leaders, then their followers' places are given up."""
    context.is_back(lost)
    led = [it for broker in sorted(lost) for it in context.led.get(broker, ())]
    hosted = [it for broker in sorted(lost) for it in context.hosted.get(broker, ())]
    returned = {}
    for partition in dict.fromkeys(hosted):
        image = context.image.partition(partition)
        if image is not None and lost & image.offline:
            returned[partition] = image._replace(offline=image.offline - lost)
    context.set_partitions(returned)
    changed = yield from change_states(context, led, lose(context, lost))
    followed = [it for it in hosted if it not in changed]
    changed |= yield from change_states(context, followed, lose(context, lost))
    fail_deletions(context, lost)
    context.batch.add_update(dict.fromkeys(it for it in hosted if it not in changed))
    yield from send(context)


def _on_arrived(context: ControllerContext, arrived: frozenset[BrokerId]) -> Steps[None]:
    """They hear everything, lead what had no leader, and go on with what was interrupted."""
    context.is_back(arrived)
    hosted = [it for broker in sorted(arrived) for it in context.hosted.get(broker, ())]
    context.batch.full |= dict.fromkeys(arrived)
    context.batch.add_update(dict.fromkeys(hosted))
    elected = yield from change_states(context, hosted, elect_where_needed(context, arrived))
    yield from tell_all(context, sorted(arrived), leaving_out=elected)
    yield from resume_reassignments(context, arrived)
    yield from resume_deletions(context, arrived)


def tell_all(
    context: ControllerContext,
    brokers: Iterable[BrokerId],
    *,
    leaving_out: Mapping[TopicPartition, object],
) -> Steps[None]:
    """These brokers hear of all that they hold, but not what they have just heard.

    Nothing has changed, so no metadata is sent. Messages are built in different turns.
    """
    yield from send(context)
    hosted = dict.fromkeys(it for broker in brokers for it in context.hosted.get(broker, ()))
    told = [it for it in hosted if it not in leaving_out]
    alive = frozenset(brokers)
    for at in range(0, len(told), TOGETHER_MAX):
        for partition in told[at : at + TOGETHER_MAX]:
            _tell(context, partition, alive)
        context.batch.update.clear()
        yield from send(context)


def tell_broker(
    context: ControllerContext, broker: BrokerId, partitions: Iterable[TopicPartition]
) -> None:
    """One broker hears of these, as far as it holds them."""
    for partition in partitions:
        _tell(context, partition, (broker,))


def _tell(
    context: ControllerContext, partition: TopicPartition, brokers: Container[BrokerId]
) -> None:
    image = context.image.partition(partition)
    if image is None or image.state is None or context.is_deleting(partition.topic):
        return
    for broker in image.assignment.replicas:
        if broker in brokers:
            context.tell_one(broker, partition, image)


# Controlled shutdown


def on_controlled_shutdown(
    context: ControllerContext, broker: BrokerId, epoch: BrokerEpoch
) -> Steps[list[TopicPartition]]:
    """A broker wants to go: what it leads moves.

    What it still leads afterwards is returned, where there is a broker that may be in sync soon.
    """
    known = context.image.brokers.get(broker)
    if known is None:
        raise BrokerNotAvailable(f"broker {broker} is not registered")
    if 0 <= epoch < known.epoch:
        raise StaleBrokerEpoch(f"broker epoch {epoch} of broker {broker}; now it is {known.epoch}")
    _check_preferred(context, known)
    context.shuts_down(broker)
    going = frozenset(context.shutting_down)
    held = [it for it in context.hosted.get(broker, ()) if _has_others(context, it)]
    led = [it for it in held if it in context.led.get(broker, {})]
    followed = [it for it in held if it not in context.led.get(broker, {})]
    yield from change_states(context, led, shut_down(context, going))
    for partition in followed:
        context.batch.add_stop(broker, partition, delete=False)
    yield from change_states(context, followed, shut_down(context, going))
    yield from send(context)
    led_still = [it for it in held if it in context.led.get(broker, {})]
    remaining = [it for it in led_still if _may_be_led_by_others(context, it)]
    yield Note(
        "controller.broker_shuts_down",
        {"broker": broker, "moved": len(led) - len(led_still), "remaining": len(led_still)},
    )
    return remaining


def _check_preferred(context: ControllerContext, broker: Broker) -> None:
    """A preferred broker may go only while enough of its kind stay."""
    if not broker.is_preferred:
        return
    live, brokers = context.live, context.image.brokers
    stay = sum(brokers[it].is_preferred for it in live if it != broker.id)
    if stay < context.policy.preferred_min_count:
        raise TooFewPreferred(
            f"broker {broker.id} is preferred, and {counted(stay, 'other')} would stay; "
            f"preferred.controllers.min.count is {context.policy.preferred_min_count}"
        )


def _may_be_led_by_others(context: ControllerContext, partition: TopicPartition) -> bool:
    image = context.image.partition(partition)
    return image is not None and not context.live.isdisjoint(image.assignment.replicas)


def _has_others(context: ControllerContext, partition: TopicPartition) -> bool:
    image = context.image.partition(partition)
    return (
        image is not None
        and image.state is not None
        and len(image.assignment.replicas) > 1
        and not context.is_deleting(partition.topic)
    )


# What a broker answers about its replicas


class ReplicaReport(NamedTuple):
    """What a broker says of its replicas, in its answer to LeaderAndIsr."""

    broker: BrokerId
    epoch: BrokerEpoch
    offline: Sequence[TopicPartition] = ()  # their log dirs have failed
    online: Sequence[TopicPartition] = ()
    unclean: Sequence[TopicPartition] = ()  # records of theirs are lost
    whole: Sequence[TopicPartition] = ()
    leading: Sequence[TopicPartition] = ()  # it does: its log was found fit to
    refused: frozenset[TopicPartition] = frozenset()  # it does not lead them: others may have more
    incarnations: Mapping[TopicPartition, Incarnation] = MappingProxyType({})
    no_other_led: frozenset[TopicPartition] = frozenset()  # in what was asked; perhaps itself


def on_replica_report(context: ControllerContext, report: ReplicaReport) -> Steps[None]:
    """Replicas that cannot be used, or lack records, lead nothing; those that are back may."""
    broker = report.broker
    known = context.image.brokers.get(broker)
    if known is None or known.epoch != report.epoch:
        return
    failed = _mark_offline(context, report)
    _mark_unclean(context, report)
    _mark_incarnations(context, report)
    _mark_unable(context, report)
    led = [it for it in failed if it in context.led.get(broker, {})]
    yield from change_states(context, led, lose(context, frozenset()))
    yield from change_states(context, failed, lose(context, frozenset()))
    yield from change_states(context, report.unclean, lose_unclean(context, broker, report.refused))
    waiting = [*report.online, *report.unclean, *report.whole]
    yield from change_states(context, waiting, elect_where_needed(context))
    yield from _go_on_without_the_dead(context, broker, report.whole)
    yield from _lower(context, broker, report.leading)
    if failed:
        yield Note("controller.replicas_offline", {"broker": broker, "replicas": len(failed)})
        fail_deletions(context, frozenset((broker,)), set(failed))
    yield from send(context)


def _go_on_without_the_dead(
    context: ControllerContext, leader: BrokerId, whole: Iterable[TopicPartition]
) -> Steps[None]:
    """They stayed in the ISR until their leader had said that it has what they have."""
    led, alive = context.led.get(leader, {}), context.image.brokers.keys()
    dead = frozenset(it for it in context.hosted if it not in alive)
    if dead:
        states = ((it, context.image.partition(it)) for it in whole if it in led)
        left = [
            partition
            for partition, image in states
            if image is not None and image.state is not None and dead & {*image.state.isr}
        ]
        yield from change_states(context, left, lose(context, dead))


def _lower(
    context: ControllerContext, leader: BrokerId, leading: Iterable[TopicPartition]
) -> Steps[None]:
    """A smaller min.insync.replicas was not written before the leader had said that it is fit."""
    led = context.led.get(leader, {})
    proven = [it for it in leading if it in led and it in context.unproven]
    for partition in proven:
        del context.unproven[partition]
    yield from change_states(context, proven, look_at_settings(context))


def _mark_offline(context: ControllerContext, report: ReplicaReport) -> list[TopicPartition]:
    """The partitions of which this is news; everybody hears of those."""
    changed, failed = {}, []
    for partition in report.offline:
        image = context.image.partition(partition)
        if image is not None and report.broker not in image.offline:
            changed[partition] = image._replace(offline=image.offline | {report.broker})
            failed.append(partition)
    for partition in report.online:
        image = context.image.partition(partition)
        if image is not None and report.broker in image.offline:
            changed[partition] = image._replace(offline=image.offline - {report.broker})
    if changed:
        context.set_partitions(changed)
        context.batch.add_update(changed)
    return failed


def _mark_unable(context: ControllerContext, report: ReplicaReport) -> None:
    cannot = context.cannot_lead.setdefault(report.broker, {})
    for partition in report.no_other_led.intersection(report.online):
        cannot.pop(partition, None)
    cannot.update(dict.fromkeys(report.no_other_led.intersection(report.offline)))
    if not cannot:
        del context.cannot_lead[report.broker]


def _mark_unclean(context: ControllerContext, report: ReplicaReport) -> None:
    logs = context.unclean_logs.setdefault(report.broker, {})
    for partition in report.whole:
        logs.pop(partition, None)
    logs.update(dict.fromkeys(report.unclean))
    if not logs:
        del context.unclean_logs[report.broker]


def _mark_incarnations(context: ControllerContext, report: ReplicaReport) -> None:
    known = context.incarnations.setdefault(report.broker, {})
    for partition in (*report.whole, *report.unclean, *report.offline):
        known.pop(partition, None)
    known |= report.incarnations
    if not known:
        del context.incarnations[report.broker]
