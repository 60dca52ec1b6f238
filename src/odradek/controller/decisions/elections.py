"""States of partitions are changed: one rule over many partitions, until each is written.

A rule looks at one partition and says what shall be written, if anything. All that it says is
written together; where somebody else was faster (a leader changed its ISR) the rule looks again at
what stands there now, so nothing that had to follow is forgotten. Brokers are told as soon as five
hundred are written.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.guarded_writes import StateWrite
from odradek.controller.leaders import (
    Choice,
    after_a_failure,
    before_a_shutdown,
    first_leader,
    members,
    named,
    new_state,
    next_state,
    preferred,
    same_leader,
    uncleanly,
    unproven,
    with_eligible,
    without,
    without_unclean,
)
from odradek.controller.messages import take_requests
from odradek.controller.steps import (
    PAUSE,
    ROWS_IN_A_TURN,
    Note,
    Send,
    StatesWritten,
    Steps,
    write_states,
)
from odradek.metadata.image import PartitionImage
from odradek.metadata.nouns import Broker, PartitionState
from odradek.model.ids import BrokerId, TopicPartition

TOGETHER_MAX: Final = 500
"""Partitions that are decided in one turn, and written before brokers hear of them: five multis."""
LOOKS_MAX: Final = 20
"""How often a leader may be faster with a change of its ISR: it writes only through us."""

Rule = Callable[[TopicPartition, PartitionImage], StateWrite | None]
"""What shall be written of a partition as it is now; None: it stays."""


def send(context: ControllerContext) -> Steps[None]:
    """Everything that was collected goes to the channels."""
    messages = yield from take_requests(context)
    if messages:
        yield Send(messages)


def change_states(
    context: ControllerContext, partitions: Iterable[TopicPartition], rule: Rule
) -> Steps[dict[TopicPartition, PartitionState]]:
    """Writes what the rule says of each, and tells brokers; the states that were written."""
    waiting = list(dict.fromkeys(partitions))
    changed: dict[TopicPartition, PartitionState] = {}
    for _ in range(LOOKS_MAX):
        looked_at, waiting = iter(waiting), []
        while writes := (yield from _writes(context, looked_at, rule)):
            outcome = yield from write_states(writes)
            context.on_written(outcome.written)
            changed |= {write.partition: write.state for write in outcome.written}
            yield from send(context)
            yield from _look_again(context, outcome)
            waiting += outcome.conflicts
        if not waiting:
            break
    return changed


def _writes(
    context: ControllerContext, partitions: Iterator[TopicPartition], rule: Rule
) -> Steps[list[StateWrite]]:
    """The next of them: the others are decided when these are written, in other turns."""
    found: list[StateWrite] = []
    for count, partition in enumerate(partitions, 1):
        if not count % ROWS_IN_A_TURN:
            yield PAUSE
        image = context.image.partition(partition)
        if image is not None and not context.is_deleting(partition.topic):
            write = rule(partition, image)
            if write is not None:
                found.append(write)
                if len(found) == TOGETHER_MAX:
                    break
    return found


def _look_again(context: ControllerContext, outcome: StatesWritten) -> Steps[None]:
    context.on_conflicts(outcome.conflicts)
    yield from send(context)
    yield from put_off(context, outcome.failed)


def put_off(context: ControllerContext, failed: Mapping[TopicPartition, str]) -> Steps[None]:
    """They are tried again later, and told of once."""
    for partition, reason in failed.items():
        if partition not in context.unwritten:
            yield Note("controller.write_failed", {"partition": str(partition), "reason": reason})
        context.unwritten[partition] = reason


# Rules


def elect_where_needed(
    context: ControllerContext, arrived: frozenset[BrokerId] = frozenset()
) -> Rule:
    """A leader for a partition that has none which could do its work."""

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        if image.state is None:
            if partition in context.lost or partition in context.unread:
                return None
            choice = first_leader(image.assignment, context.online(image))
            if choice is None:
                return None
            return StateWrite(partition, new_state(choice, context.lease.epoch), is_new=True)
        online = context.online(image)
        if image.leader is not None and image.leader in online:
            return None
        choice = choose(context, partition, image, arrived)
        return None if choice is None else _elected(context, partition, image, choice)

    return rule


def look_at_settings(context: ControllerContext) -> Rule:
    """A leader may be allowed now; where it may commit with fewer, no broker is eligible."""
    elect = elect_where_needed(context)

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        write, state = elect(partition, image), image.state
        if write is not None or state is None:
            return write
        terms = context.terms(partition, image)
        lowered = without(state, frozenset(), context.lease.epoch, terms)
        return None if lowered is None else StateWrite(partition, lowered)

    return rule


def choose(
    context: ControllerContext,
    partition: TopicPartition,
    image: PartitionImage,
    avoid: frozenset[BrokerId] = frozenset(),
) -> Choice | None:
    """A leader after a failure: whole before unclean, and unclean ones only if none is whole.

    `avoid` names replicas that are taken only where no other is left: what they have is what
    they had in a former life, and they say themselves if that is not all. Until then the others
    stay in the ISR, dead or alive: they may be the only ones who have it.
    """
    state = image.state
    assert state is not None, partition
    online, unclean = context.able(partition, image), context.unclean(partition, image)
    for candidates in dict.fromkeys((online - unclean - avoid, online - unclean)):
        choice = after_a_failure(image.assignment, state, candidates)
        if choice is not None and choice.leader in avoid:
            return unproven(choice, state, unclean, context.terms(partition, image))
        if choice is not None:
            return choice
    if unclean.issuperset(members(state)):  # no other is waited for
        choice = after_a_failure(image.assignment, state, online)
        if choice is not None:
            return choice
    if context.policy.unclean(partition.topic):
        return unclean_choice(context, partition, image)
    return None


def unclean_choice(
    context: ControllerContext, partition: TopicPartition, image: PartitionImage
) -> Choice | None:
    """Any replica that is online; one whose log is known to lack records only at last."""
    online, unclean = context.able(partition, image), context.unclean(partition, image)
    return uncleanly(image.assignment, online - unclean) or uncleanly(image.assignment, online)


def lose(
    context: ControllerContext, gone: frozenset[BrokerId], former: "FormerLives | None" = None
) -> Rule:
    """These are gone: another leader where they led, and the ISR goes on without them.

    So are members that the assignment does not name: a controller wrote it, and died before the
    state. Their brokers delete what they have.
    """
    lives = former or {}

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        written = image.state
        if written is None:
            return elect_where_needed(context)(partition, image)
        state, strangers = named(image.assignment, written)
        image = image._replace(state=state)
        stale = lives.get(partition, frozenset())
        lost = gone | stale | strangers
        if state.leader is None or state.leader in lost or state.leader in image.offline:
            choice = choose(context, partition, image, stale)
            if choice is not None:
                return _elected(context, partition, image, choice)
        missing, terms = lost | image.offline, context.terms(partition, image)
        smaller = without(state, missing, context.lease.epoch, terms)
        if smaller is None and strangers:
            smaller = with_eligible(same_leader(state, context.lease.epoch), state, terms)
        return None if smaller is None else StateWrite(partition, smaller)

    return rule


FormerLives = dict[TopicPartition, frozenset[BrokerId]]
"""Members of an ISR that was written before their present life began."""


def former_lives(
    context: ControllerContext,
    written_at: Mapping[TopicPartition, int],
    brokers: Mapping[BrokerId, Broker],
) -> FormerLives:
    """As of these writes, with these brokers. What this controller has written is left out."""
    found = {}
    for partition, written in written_at.items():
        image = context.image.partition(partition)
        if image is None or image.state is None:
            continue
        if image.state.controller_epoch == context.lease.epoch:
            continue
        stale = [it for it in image.state.isr if it in brokers and brokers[it].epoch > written]
        if stale:
            found[partition] = frozenset(stale)
    return found


def dead_replicas(context: ControllerContext) -> frozenset[BrokerId]:
    """Brokers that shall hold something, and do not live."""
    return frozenset(it for it in context.hosted if it not in context.image.brokers)


def take_over(context: ControllerContext, former: FormerLives) -> Rule:
    """Partitions whose topic was not known here: what was decided meanwhile reached no broker.

    So each begins another leader epoch. Its replicas hear of it, and a leader that was told that
    there is no such topic proposes again.
    """
    losing = lose(context, dead_replicas(context), former)

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        write, state = losing(partition, image), image.state
        if write is not None or state is None or state.leader is None:
            return write
        again = same_leader(state, context.lease.epoch)
        return StateWrite(partition, with_eligible(again, state, context.terms(partition, image)))

    return rule


def lose_unclean(
    context: ControllerContext, reporter: BrokerId, refused: Collection[TopicPartition]
) -> Rule:
    """Members whose logs lack records make room for those who have everything.

    A leader that has refused hears of a new epoch even where no other can lead.
    """

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        state = image.state
        if state is None:
            return None
        unclean = context.unclean(partition, image)
        has_refused = state.leader == reporter and partition in refused
        if has_refused or state.leader in unclean:
            choice = choose(context, partition, image)
            if choice is not None and (has_refused or choice.leader != state.leader):
                return _elected(context, partition, image, choice)
        terms = context.terms(partition, image)
        smaller = without_unclean(state, unclean, context.lease.epoch, terms)
        return None if smaller is None else StateWrite(partition, smaller)

    return rule


def shut_down(context: ControllerContext, going: frozenset[BrokerId]) -> Rule:
    """They lead and follow nothing any more, as far as others can take over."""

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        state = image.state
        if state is None:
            return None
        if state.leader in going:
            able = context.able(partition, image)
            choice = before_a_shutdown(image.assignment, state, able, going)
            return None if choice is None else _elected(context, partition, image, choice)
        terms = context.terms(partition, image)
        smaller = without(state, going, context.lease.epoch, terms)
        return None if smaller is None else StateWrite(partition, smaller)

    return rule


def elect_preferred(context: ControllerContext) -> Rule:
    """The preferred leader, where it could lead at once and does not."""

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        state = image.state
        if state is None or state.leader == image.assignment.replicas[0]:
            return None
        choice = preferred(image.assignment, state, context.able(partition, image))
        return None if choice is None else _elected(context, partition, image, choice)

    return rule


def elect_uncleanly(context: ControllerContext) -> Rule:
    """An operator demands a leader, whatever is lost."""

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        state = image.state
        if state is None or (state.leader is not None and state.leader in context.online(image)):
            return None
        choice = choose(context, partition, image)
        choice = choice or unclean_choice(context, partition, image)
        return None if choice is None else _elected(context, partition, image, choice)

    return rule


def _elected(
    context: ControllerContext, partition: TopicPartition, image: PartitionImage, choice: Choice
) -> StateWrite:
    assert image.state is not None, partition
    terms = context.terms(partition, image)
    chosen = next_state(image.state, choice, context.lease.epoch, terms)
    return StateWrite(partition, chosen, is_unclean=choice.unclean)
