"""What a cluster promises its clients and administrators, whatever happens to its parts."""

from functools import partial
from typing import Any, ClassVar

from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker.administrator_promises import DOUBT_MICROS
from odradek.sim.worlds.broker.promises import ClientsAreToldOneStory
from odradek.sim.worlds.cluster.clients.users import COPIED, PLAIN, SYNCED
from odradek.sim.worlds.cluster.promises.insides import Copies, Looks
from odradek.sim.worlds.cluster.view import ClusterView, Place


class ClusterTellsOneStory(ClientsAreToldOneStory):
    """All that clients are told of logs can be true: nothing is lost, doubled, moved, invented.

    An acknowledgement by all is believed until the records may be lost; that of a leader alone
    says nothing. It also means that the record is committed, which `Copies` is told. What is read
    from a leader of the time before they may be lost is not believed: it may not have heard yet
    that another was elected, and what it has will be cut off.
    """

    watches: ClassVar = frozenset(
        {
            *("client.sends", "client.acked", "client.looks", "client.found"),
            *("client.read", "client.polled", "records.may_be_lost", "records.may_go"),
        }
    )

    def __init__(self, copies: Copies) -> None:
        super().__init__(once={SYNCED, COPIED})
        self._copies = copies
        self._sent: dict[Any, int] = {}  # when, by the first record of what is sent at once

    def _is_believed(self, place: tuple[str, int], leader_epoch: int) -> bool:
        lost_in = self._copies.lost_in(*place)
        return lost_in is None or leader_epoch > lost_in

    def _on_written(self, event: Event) -> None:
        match event.what, event.details:
            case "records.may_be_lost", (topic,):
                self._history.lost({topic})
            case "records.may_go", (topic, number, before):
                self._history.deletes((topic, number), before)
            case "client.sends", (topic, number, values):
                self._history.sends(values[0].partition("/")[0], (topic, number), values)
                self._sent[values[0]] = event.moment
            case "client.acked", (topic, number, base, values):
                end = base + len(values)
                is_so = partial(self._copies.is_believed, topic, number)
                if topic != PLAIN and is_so(lambda it: it.log_end_offset >= end):
                    self._history.acknowledged((topic, number), base, values)
                    sent = self._sent.get(values[0])
                    if sent is not None:
                        self._copies.acknowledged(topic, number, end, sent)


class GrowthStays(Invariant):
    """A topic that two let grow has as many partitions as either was told, or more."""

    watches: ClassVar = frozenset({"topic.outgrew", "looks"})

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._told: dict[str, int] = {}

    def on(self, event: Event) -> None:
        """Compares with the tree."""
        if event.what == "topic.outgrew":
            topic, count = event.details
            self._told[topic] = max(count, self._told.get(topic, 0))
            return
        topics = self._view.topics()
        for topic, count in self._told.items():
            found = len(topics[topic].partitions)
            assert found >= count, f"{topic} has {found} partitions, and was told to have {count}"


class CommitsGoWithTheirTopic(Invariant):
    """In a topic that was made anew no group has a position of an earlier one of its name.

    A commit that was not answered may still be on its way.
    """

    watches: ClassVar = frozenset({"commit.found", "commit.tries", "commit.made"})

    def __init__(self) -> None:
        self._tried: dict[str, int] = {}  # and not answered

    def on(self, event: Event) -> None:
        """Compares what is found with nothing."""
        partition, *found = event.details
        if event.what == "commit.tries":
            self._tried[partition] = event.moment
        elif event.what == "commit.made":
            del self._tried[partition]
        elif event.moment - self._tried.get(partition, -DOUBT_MICROS) >= DOUBT_MICROS:
            assert found == [None], f"{partition} is new, and a group is at {found[0]}"


class TrimsHold(Invariant):
    """Where records were deleted, the log begins as far up as was asked for, or further."""

    watches: ClassVar = frozenset({"log.trimmed"})

    def on(self, event: Event) -> None:
        """What the answer says, and what is told right after."""
        partition, before, told, found = event.details
        assert min(told, found) >= before, (
            f"{partition} was trimmed to {before}: the answer says {told}, and it begins at {found}"
        )


class DeletedRecordsStayDeleted(Looks):
    """Records whose deletion was acknowledged come back under no leader, unless all may be lost.

    One that has not heard yet that another was elected has what it had: that is no leader any more,
    acknowledges nothing, and deletes before it may lead again. If that other was elected uncleanly,
    it does answer, and nothing follows from what it says.
    """

    watches: ClassVar = frozenset({"looks", "records.went"})

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._starts: dict[Place, tuple[int, int]] = {}  # since when, and where logs begin

    def on(self, event: Event) -> None:
        """What the answer says holds from then on."""
        if event.what == "looks":
            self.look()
            return
        topic, number, start = event.details
        if not self._copies.is_believed(topic, number, lambda it: it.log_start_offset >= start):
            return
        for place, copied in self._copies.of.items():
            if place.partition == (topic, number):
                before = self._starts.get(place, (0, 0))
                kept = before[1] if before[0] == copied.since else 0
                self._starts[place] = copied.since, max(start, kept)

    def look(self) -> None:
        """Of every leader of the time since."""
        if not self._starts:
            return
        for number, place, replica in self._copies.led:
            since, start = self._starts.get(place, (0, 0))
            if not start:
                continue
            copied, state = self._copies.of.get(place), self._copies.states.get(place)
            if copied is None or copied.since != since:
                continue
            if state is None or state.leader_epoch != replica.leader_epoch:
                continue
            if replica.leader_epoch > copied.since_epoch and replica.log.unclean is None:
                found = replica.log.log_start_offset
                assert found >= start, (
                    f"{place}: deleted up to {start}, and it begins at {found} on {number}"
                )
