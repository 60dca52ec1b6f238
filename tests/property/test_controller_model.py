"""The controller's core against a model that looks at every partition after every event.

The core finds by indexes what an event touches, and writes and tells just that. The model knows no
index: it applies the rules to all partitions, one by one. Leaders, in-sync and eligible replicas
must agree, stand in the tree, and be what every broker was told last.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.controller.events import (
    AlterPartitionAsked,
    ControlledShutdownAsked,
    DeletionAsked,
    ElectionAsked,
    ElectionType,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    RequestPartitionData,
    RequestTopicData,
)
from tests.unit.controller.conversation import Conversation

BROKERS = (1, 2, 3, 4)
MIN_ISR = 2
numbers = st.sampled_from(BROKERS)
assignments = st.lists(numbers, min_size=1, max_size=3, unique=True).map(tuple)


class Partition:
    """What the model knows of one."""

    def __init__(self, replicas: tuple[int, ...]) -> None:
        self.replicas = replicas
        self.leader: int | None = None
        self.isr: set[int] = set()  # empty: it never had a leader
        self.eligible: set[int] = set()

    def members(self) -> set[int]:
        """Who has everything that was committed."""
        return self.isr | self.eligible if len(self.isr) < MIN_ISR else set(self.isr)

    def becomes(self, leader: int | None, isr: set[int]) -> None:
        """With this ISR; who else had everything is eligible while it is small."""
        members = self.members()
        self.leader, self.isr = leader, isr
        self.eligible = members - isr if len(isr) < MIN_ISR else set()

    def elect(self, live: set[int]) -> None:
        """A leader, if there can be one."""
        if not self.isr:
            alive = [it for it in self.replicas if it in live]
            if alive:
                self.leader, self.isr = alive[0], set(alive)
            return
        for candidates, isr in ((self.isr, self.isr & live), (self.members(), None)):
            for replica in self.replicas:
                if replica in candidates and replica in live:
                    self.becomes(replica, {replica} if isr is None else isr)
                    return

    def lose(self, gone: set[int], live: set[int]) -> None:
        """These are dead, or as good as dead."""
        if not self.isr or not gone & set(self.replicas):
            return
        if self.leader in gone or self.leader is None:
            self.leader = None
            self.elect(live)
            if self.is_led():
                return
        self.becomes(self.leader, self.isr - gone or self.isr)

    def is_led(self) -> bool:
        """Whether it has a leader."""
        return self.leader is not None


class ControllerMachine(RuleBasedStateMachine):
    """Events as they come, in any order."""

    @initialize(live=st.sets(numbers, min_size=1))
    def begin(self, live: set[int]) -> None:
        """A new cluster."""
        self.talk = Conversation(brokers=sorted(live))
        self.talk.settings.min_isrs = {f"t{number}": MIN_ISR for number in range(40)}
        self.talk.begin()
        self.live, self.going = set(live), set[int]()
        self.model: dict[TopicPartition, Partition] = {}
        self.made = 0

    def could_lead(self) -> set[int]:
        """Alive, and not about to go."""
        return self.live - self.going

    def leads(self, partition: Partition) -> bool:
        """Whether it has a leader that stays."""
        return partition.leader is not None and partition.leader not in self.going

    @rule(some=st.lists(assignments, min_size=1, max_size=3))
    def make(self, some: list[tuple[int, ...]]) -> None:
        """A topic by somebody else's hand."""
        factor = min(map(len, some))
        name = f"t{self.made}"
        self.made += 1
        self.talk.topic(name, *(it[:factor] for it in some))
        data = self.talk.tree.nodes[f"/brokers/topics/{name}"].data
        other_id = f"topic-id-{self.made:04}AAAAAAAAA"[:22].encode()
        node = self.talk.tree.nodes[f"/brokers/topics/{name}"]
        fresh = data.replace(b"AAECAwQFBgcICQoLDA0ODw", other_id)
        self.talk.tree.nodes[f"/brokers/topics/{name}"] = node._replace(data=fresh)
        self.talk.topics_changed()
        for number, replicas in enumerate(some):
            partition = Partition(replicas[:factor])
            partition.elect(self.could_lead())
            self.model[TopicPartition(name, number)] = partition

    @rule(now=st.sets(numbers))
    def brokers(self, now: set[int]) -> None:
        """Some die, some arrive, between two looks."""
        gone, arrived = self.live - now, now - self.live
        self.live, self.going = now, self.going & now
        for partition in self.model.values():
            partition.lose(gone, self.could_lead() - arrived)
        for partition in self.model.values():
            if arrived & set(partition.replicas) and not self.leads(partition):
                partition.elect(self.could_lead())
        self.talk.brokers(*sorted(now))

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def bounce(self, data: st.DataObject) -> None:
        """One is back before anybody saw it go."""
        number = data.draw(st.sampled_from(sorted(self.live)))
        self.going.discard(number)
        for partition in self.model.values():
            partition.lose({number}, self.could_lead() - {number})
        for partition in self.model.values():
            if number in partition.replicas and not self.leads(partition):
                partition.elect(self.could_lead())
        self.talk.bounce(number)

    @precondition(lambda self: any(it.leader for it in self.model.values()))
    @rule(data=st.data())
    def change_isr(self, data: st.DataObject) -> None:
        """A leader asks for another ISR, of those who may be in it."""
        led = [it for it in self.model if self.model[it].leader in self.live]
        if not led:
            return
        where = data.draw(st.sampled_from(sorted(led)))
        partition = self.model[where]
        leader = partition.leader
        assert leader is not None
        if leader in self.going:
            return
        others = st.sets(st.sampled_from(partition.replicas))
        isr = (data.draw(others) | {leader}) & self.could_lead()
        answer = self.ask(where, leader, isr)
        assert answer.topics[0].partitions[0].error_code == 0
        if isr != partition.isr:
            partition.becomes(leader, isr)

    def ask(self, where: TopicPartition, leader: int, isr: set[int]) -> Any:
        """AlterPartition."""
        state = self.talk.state(*where)
        row = RequestPartitionData(
            where.partition,
            state.leader_epoch,
            new_isr=sorted(isr),
            partition_epoch=state.partition_epoch,
        )
        topic_id = self.talk.context.image.topics[where.topic].topic_id
        assert topic_id is not None
        topics = [RequestTopicData(topic_id=topic_id, partitions=[row])]
        request = AlterPartitionRequest(leader, self.talk.epoch(leader), topics)
        return self.talk.on(AlterPartitionAsked(request, 2))

    @precondition(lambda self: self.could_lead())
    @rule(data=st.data())
    def shut_down(self, data: st.DataObject) -> None:
        """One wants to go: what others can take over they do."""
        number = data.draw(st.sampled_from(sorted(self.could_lead())))
        self.going.add(number)
        for partition in self.model.values():
            if number not in partition.replicas or len(partition.replicas) < 2:
                continue
            if not partition.isr:
                continue
            staying = partition.isr - self.going
            if partition.leader in self.going:
                for replica in partition.replicas:
                    if replica in staying and replica in self.live:
                        partition.becomes(replica, staying)
                        break
            elif staying != partition.isr:
                partition.becomes(partition.leader, staying or partition.isr)
        self.talk.on(ControlledShutdownAsked(BrokerId(number), self.talk.epoch(number)))

    @rule()
    def elect_preferred(self) -> None:
        """All of them."""
        for partition in self.model.values():
            first = partition.replicas[0]
            if first in partition.isr and first in self.could_lead():
                partition.leader = first
        self.talk.on(ElectionAsked(ElectionType.PREFERRED, None))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """A topic, of which every replica can be reached."""
        names = {it.topic for it in self.model}
        reached = [
            name
            for name in sorted(names)
            if all(
                set(self.model[it].replicas) <= self.live for it in self.model if it.topic == name
            )
        ]
        if not reached:
            return
        name = data.draw(st.sampled_from(reached))
        self.talk.sent.clear()
        self.talk.on(DeletionAsked([name]))
        for broker in sorted(self.live):
            self.talk.stopped(broker)
        assert not [path for path in self.talk.tree.nodes if path.split("/")[-1] == name]
        self.model = {it: now for it, now in self.model.items() if it.topic != name}

    @rule()
    def fail_over(self) -> None:
        """Another controller begins, with nothing but the tree."""
        self.going.clear()
        for partition in self.model.values():
            if partition.leader is None:
                partition.elect(self.live)
        self.talk.begin()

    @invariant()
    def agrees(self) -> None:
        """Tree, image and model."""
        for where, partition in self.model.items():
            image = self.talk.context.image.partition(where)
            assert image is not None
            if not partition.isr:
                assert image.state is None
                continue
            state = self.talk.state(*where)
            found = (state.leader, set(state.isr), set(state.eligible))
            assert found == (partition.leader, partition.isr, partition.eligible), where
            assert state.leader is None or (state.leader in self.live and state.leader in state.isr)
            assert where in self.talk.context.led.get(state.leader or BrokerId(-9), {where: None})


TestController = ControllerMachine.TestCase
TestController.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
