"""What holds between the brokers of a cluster, whatever their clients see.

`Copies` follows, for each partition, what was committed and which replicas must have it. Looked at
whenever a client is told something, but not more often than twenty times in a simulated second.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.metadata.nouns import PartitionState
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event, History
from odradek.sim.invariants import Invariant
from odradek.sim.picture import STATE
from odradek.sim.stage.broker_machine import name_of
from odradek.sim.worlds.cluster.promises.min_isr import MinIsrs
from odradek.sim.worlds.cluster.view import ClusterView, Cursor, Place, Row
from odradek.storage.logs.log import PartitionLog

MIN_ISR: Final = 2
DISKS_MAX: Final = 1_000
EVERY_MICROS: Final = SECOND // 20
TOLD: Final = frozenset(
    {"client.acked", "client.end", "client.committed", "client.joined", "topic.made", "heals"}
)


@dataclass(slots=True)
class Copied:
    """What is known of one partition."""

    since: int = 0  # the moment from which on nothing was lost
    since_epoch: int = -1  # likewise: leaderships up to this one are of what was before
    committed: int = 0  # the highest high watermark that a leader had
    rows: dict[int, Row] = field(default_factory=dict)  # below it, by base offset
    lacking: set[BrokerId] = field(default_factory=set)
    """Their disk lost something since, and until they are whole and may be elected: who has fetched
    all again may not lead yet, and the end of a log that came back may be of an earlier history."""
    outside: set[BrokerId] = field(default_factory=set)
    """Of those, who has been out of the ISR since: who joins again has all that is committed."""
    corrupt: set[BrokerId] = field(default_factory=set)  # a bit of their log has turned
    cursors: dict[BrokerId, Cursor] = field(default_factory=dict)
    ends: dict[BrokerId, int] = field(default_factory=dict)  # of logs, when they were last seen
    disks: int = DISKS_MAX  # what is committed may be on no more than so many
    compacted: bool = False  # once

    @property
    def holders(self) -> set[BrokerId]:
        """Who has all that is committed, perhaps on a disk that is not read now."""
        ends = self.ends.items()
        return {it for it, end in ends if end >= self.committed} - self.spoilt

    @property
    def spoilt(self) -> set[BrokerId]:
        """Whose copy may not be what was written."""
        return self.lacking | self.corrupt

    def see(self, written: PartitionState, ready: set[BrokerId]) -> None:
        """A leader takes into the ISR who has all; the controller, without one, who was there.

        Before the life that follows a loss is registered it may also take in the one before it.
        """
        self.outside |= ready & self.lacking.difference(written.isr)
        if written.leader is None:
            self.outside.difference_update(written.isr)

    def may_be_of_before(self, number: BrokerId, last_epoch: int) -> bool:
        """Whether a log may be what it was before all was lost, by the last epoch that it has.

        Who lost nothing, but was away when another was elected, has it still. It is cut as well.
        """
        return number in self.lacking or last_epoch <= self.since_epoch


class Led(NamedTuple):
    """A leadership that a broker believes to have."""

    number: BrokerId
    place: Place
    replica: LeadingReplica


class Copies:
    """Of every partition.

    Where no copy is left that may be elected, because so many machines have lost power, what was
    there is forgotten: `records.may_be_lost` says of which topic.
    """

    def __init__(
        self,
        view: ClusterView,
        history: History,
        *,
        synced: frozenset[str],
        min_isr: Mapping[str, int],
    ) -> None:
        self.view = view
        self.of: dict[Place, Copied] = {}
        self._history = history
        self._synced = synced  # topics that are synced before they are acknowledged
        self._min_isr = dict(min_isr)  # of topics that have had another, the lowest
        self.min_isrs = MinIsrs(view, history.now)
        self._now = history.now
        self._numbers = {name_of(number): BrokerId(number) for number in view.brokers}
        self._looked = -EVERY_MICROS
        self._lost_at: dict[BrokerId, int] = {}  # what they have now they will not have at once
        self.opened: Sequence[tuple[BrokerId, Broker]] = ()  # while others are told of a look
        self.led: Sequence[Led] = ()  # likewise, by all of them
        self._is_telling = False
        self._logs: list[tuple[BrokerId, Place, PartitionLog]] = []  # as of the last look
        self.states: Mapping[Place, PartitionState] = {}  # likewise, of those that have one
        self._replicas: Mapping[Place, Sequence[BrokerId]] = {}  # likewise
        self._read: object = None  # what those were read from
        self._wanted: dict[TopicPartition, Place] = {}
        self._uncleanly: dict[Place, BrokerId] = {}  # who leads so, as long as it says so
        history.watch(self._on_told, TOLD)
        history.watch(self._on_min_isr, {"min_isr.may_be"})
        history.watch(self._on_power_lost, {"loses power"})
        history.watch(self._on_state, {STATE})

    def _on_told(self, event: Event) -> None:
        if event.moment - self._looked >= EVERY_MICROS:
            self._looked = event.moment
            self._is_telling = True
            self.look()
            self._history.note("world", "looks")
            self._is_telling = False
            self._let_go()

    def _on_state(self, event: Event) -> None:
        """One that lacked something has joined: the others may be gone before the next look.

        Or one was elected that was not in sync: what only others have may be lost.
        """
        name, _, _, isr = event.details
        found = [place for place in self.of if str(place) == name]
        for place in found:
            state = self.view.states().get(place)
            if state is not None:
                self.min_isrs.elects(place, state)
        self._see_unclean_elections()
        if any(self.of[place].lacking.intersection(isr) for place in found):
            self.look()

    def _see_unclean_elections(self) -> None:
        """Of all partitions, before anything is noted.

        States that are written together are told of one by one, and a listener of the first looks
        at all.
        """
        states, elected = self.view.states(), []
        for place in self.of:
            state = states.get(place)
            if state is None or not state.recovering:
                self._uncleanly.pop(place, None)
            elif state.leader not in {None, self._uncleanly.get(place)}:
                assert state.leader is not None
                self._uncleanly[place] = state.leader
                self._forget_one(place, state.leader_epoch - 1)
                elected.append((place, state.leader))
        for place, leader in elected:
            self._history.note("world", "elected.uncleanly", *place.partition, leader)
            self._history.note("world", "records.may_be_lost", place.partition.topic)

    def disks(self, place: Place, since: int) -> int:
        """So many at least have what leaders have acknowledged since then."""
        return min(self.min_isrs.lowest(place, since), len(self._replicas[place]))

    def _on_min_isr(self, event: Event) -> None:
        """From now on so few may be enough for a controller; or more, which says nothing."""
        topic, value = event.details
        self._min_isr[topic] = min(value, self._min_isr.get(topic, MIN_ISR))

    def _may_elect(self, topic: str, replicas: Sequence[BrokerId]) -> int:
        """A controller may name no eligible broker beside so many, whatever the leader asks for."""
        lowest, everywhere = self._min_isr.get(topic, MIN_ISR), self._min_isr.get("", MIN_ISR)
        return min(lowest, everywhere, len(replicas))

    def _count_disks(self) -> None:
        """All of a partition's, again, once all replicas have what is committed."""
        for place, replicas in self._replicas.items():
            copied, state = self.of[place], self.states.get(place)
            now = self._may_elect(place.partition.topic, replicas)
            if copied.disks == now:
                continue
            there = {*replicas} & copied.holders
            is_whole = state is not None and there.issuperset(replicas) and there <= {*state.isr}
            copied.disks = now if is_whole else min(now, copied.disks)

    def _on_power_lost(self, event: Event) -> None:
        if event.who in self._numbers:
            self.lose(self._numbers[event.who], wiped=False)

    def look(self) -> None:
        """Notes what is committed, and who has it."""
        self._look()
        if not self._is_telling:
            self._let_go()

    def _let_go(self) -> None:
        """A file that brokers have let go of is closed then, not when it is looked at again."""
        self.opened = self.led = ()

    def _look(self) -> None:
        """What may be lost by now is forgotten first.

        Who leads without it says so next. But who has joined since its loss has everything, and may
        be the only replica already: the others were taken away in the same moment.
        """
        before = self.states
        self._find()
        opened, leaderships = self.opened, self.led  # what is noted here may cause another look
        self.min_isrs.look_if_due()
        for holder, place, found in self._logs:
            copied = self.of[place]
            if not found.is_doubted:
                copied.ends[holder] = found.log_end_offset
            if holder in copied.outside:
                self._see_joined(holder, place, found)
        self._forget(before)
        for number, place, replica in leaderships:
            led = self.of.get(place)
            if led is None or replica.log.unclean is not None:  # it is about to lead
                continue
            if replica.leader_epoch > led.since_epoch:
                led.committed = max(led.committed, replica.log.high_watermark)
                if number not in led.corrupt:
                    self._compare(number, place, replica.log)
        ready = {
            number for number, broker in opened if broker.is_ready and not self._loses_now(number)
        }
        for where, written in self.states.items():
            self.of[where].see(written, ready)
        for number, place, found in self._logs:
            copied, state = self.of[place], self.states.get(place)
            if not found.is_doubted:
                copied.ends[number] = found.log_end_offset
            if state is None:
                continue
            is_in_sync = number in state.isr
            if number in copied.lacking:
                may_be_elected = is_in_sync or number in state.eligible
                if may_be_elected and self._is_whole(number, found, copied):
                    copied.lacking.discard(number)
                    copied.outside.discard(number)
            if is_in_sync and number not in copied.lacking and number not in copied.corrupt:
                self._compare(number, place, found)
        self._forget(self.states)

    def _see_joined(self, number: BrokerId, place: Place, found: PartitionLog) -> None:
        """Who was outside of the ISR has perhaps come in again."""
        copied, state = self.of[place], self.states.get(place)
        has_joined = state is not None and number in state.isr
        if has_joined and self._is_whole(number, found, copied):
            copied.lacking.discard(number)
            copied.outside.discard(number)

    def _is_whole(self, number: BrokerId, found: PartitionLog, copied: Copied) -> bool:
        """Whether the log has all that is committed, and its broker says that it lost nothing."""
        has_all = found.unclean is None and found.log_end_offset >= copied.committed
        return has_all and not self._loses_now(number)

    def _loses_now(self, number: BrokerId) -> bool:
        """In this moment: what it has and is, it will not be."""
        return self._lost_at.get(number) == self._now()

    def _compare(self, number: BrokerId, place: Place, found: PartitionLog) -> None:
        """What of a log is committed, with what is known to be.

        What is below its start was deleted, and may be of an earlier history: a leader that has
        deleted as much does not know the difference.
        """
        copied = self.of[place]
        end, cursor = min(found.high_watermark, copied.committed), copied.cursors.get(number)
        if cursor is not None and cursor.log is found and end <= cursor.reached:
            return
        cursor, rows = self.view.read_on(number, found, cursor, end)
        copied.cursors[number] = cursor
        copied.compacted |= found.config.compact
        if copied.compacted:
            return
        for offset, row in rows:
            if row.next_offset <= found.log_start_offset:
                continue
            known = copied.rows.setdefault(offset, row)
            if known != row:
                self._history.note("world", "logs.differ", str(place), number, offset, known, row)

    def _find(self) -> None:
        """All partitions, their states, and every replica that serves."""
        places, wanted = self.view.places(), self._wanted
        if places is not self._read:
            self._read, self._replicas = places, dict(places)
            self.of = {place: self.of.get(place) or Copied() for place, _ in places}
            for where, replicas in places:
                for gone in self.of[where].ends.keys() - {*replicas}:
                    del self.of[where].ends[gone]
            wanted = self._wanted = {place.partition: place for place in self.of}
        self.states = self.view.states()
        self.opened = [(BrokerId(number), broker) for number, broker in self.view.opened()]
        logs: list[tuple[BrokerId, Place, PartitionLog]] = []
        led: list[Led] = []
        for number, broker in self.opened:
            hosted = broker.services_of_this_life.replicas
            for found in hosted.dirs:
                place = wanted.get(found.partition)
                if place is not None and place.topic_id == found.topic_id:
                    logs.append((number, place, found))
            for replica in hosted.all_led():
                place = wanted.get(replica.partition)
                if place is None or place.topic_id != replica.topic_id:  # it is of another topic
                    place = Place(replica.topic_id, replica.partition)
                led.append(Led(number, place, replica))
        self._logs, self.led = logs, led

    def logs(self) -> Iterable[tuple[BrokerId, Place, PartitionLog]]:
        """Every replica that serves, as of the last look."""
        return self._logs

    def all_are_whole(self) -> bool:
        """Whether every replica has all that is committed, and may be elected."""
        self.look()
        for place, replicas in self.view.places():
            state, copied = self.states.get(place), self.of[place]
            if state is None or {*replicas} - copied.holders or {*replicas} - {*state.isr}:
                return False
        return True

    def can_spare(self, machine: str) -> bool:
        """Whether others that may lead have all that is committed."""
        self.look()
        number = self._numbers[machine]
        for place, replicas in self.view.places():
            state, copied = self.states.get(place), self.of[place]
            if number in replicas and copied.committed:
                members = set() if state is None else {*state.isr, *state.eligible}
                if not copied.holders & members - {number}:
                    return False
        return True

    def rot(self, machine: str, partition: str) -> None:
        """A bit of one of its logs has turned; whether it is mended, is not looked at here."""
        for place, copied in self.of.items():
            if str(place) == partition:
                copied.corrupt.add(self._numbers[machine])

    def with_a_corrupt_copy(self) -> set[str]:
        """Partitions of which a copy is."""
        return {str(place) for place, copied in self.of.items() if copied.corrupt}

    def wipe(self, machine: str) -> None:
        """One of its disks is empty from now on."""
        self.lose(self._numbers[machine], wiped=True)

    def acknowledged(self, topic: str, number: int, end: int, sent: int) -> None:
        """A client was told so of what it sent at that moment."""
        for place, copied in self.of.items():
            if place.partition == (topic, number) and sent >= copied.since:
                copied.committed = max(copied.committed, end)

    def is_believed(self, topic: str, number: int, says: Callable[[PartitionLog], bool]) -> bool:
        """Whether an answer is that of a leader of the time since something may have been lost.

        One that an unclean election has replaced, and that has not heard of it, answers as well:
        where there is such a leader, one of the time since must have a log like that.
        """
        for place, copied in self.of.items():
            if place.partition == (topic, number) and copied.since:
                led = list(self._led(place))
                since = [log for epoch, log in led if epoch > copied.since_epoch]
                if len(since) < len(led) and not any(map(says, since)):
                    return False
        return True

    def _led(self, place: Place) -> Iterator[tuple[int, PartitionLog]]:
        """In which leader epochs brokers believe to lead it, and their logs."""
        for _, broker in self.view.opened():
            for replica in broker.services_of_this_life.replicas.all_led():
                if Place(replica.topic_id, replica.partition) == place:
                    yield replica.leader_epoch, replica.log

    def lost_in(self, topic: str, number: int) -> int | None:
        """The last leader epoch of what may be lost, if something may."""
        for place, copied in self.of.items():
            if copied.since and place.partition == (topic, number):
                return copied.since_epoch
        return None

    def lose(self, number: BrokerId, *, wiped: bool) -> None:
        """A broker's disks have lost what was not synced, or everything."""
        self.look()
        self._lost_at[number] = self._now()
        for place, copied in self.of.items():
            if wiped or place.partition.topic not in self._synced:
                copied.lacking.add(number)
                copied.outside.discard(number)
        self._forget(self.states)

    def _forget(self, before: Mapping[Place, PartitionState]) -> None:
        """Where as many disks as it was acknowledged by have lost something, all may be lost.

        A leader that was elected since those states begins with what is left, and is believed.
        """
        self._count_disks()
        lost: set[str] = set()
        for place, replicas in self.view.places():
            copied = self.of[place]
            if not (copied.lacking or copied.corrupt):
                continue
            state = self.states.get(place)
            if state is None or not copied.committed:
                continue
            electable = copied.holders & {*state.isr, *state.eligible}
            if not electable and len(copied.spoilt & {*replicas}) >= copied.disks:
                led = before.get(place, state)
                is_new = led.leader_epoch < state.leader_epoch
                self._forget_one(place, state.leader_epoch - is_new)
                lost.add(place.partition.topic)
        for topic in sorted(lost):
            self._history.note("world", "records.may_be_lost", topic)

    def _forget_one(self, place: Place, epoch: int) -> None:
        """What leaders up to this epoch have written."""
        before = self.of[place]
        lacking, corrupt = {*before.lacking}, {*before.corrupt}
        self.of[place] = Copied(self._now(), epoch, lacking=lacking, corrupt=corrupt)


class Looks(Invariant):
    """One that looks at all brokers."""

    watches: ClassVar = frozenset({"looks"})

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        self._view = copies.view

    def on(self, event: Event) -> None:
        """Whenever `Copies` has."""
        del event
        self.look()

    def look(self) -> None:
        """Asserts."""


def brokers_of(view: ClusterView) -> Iterator[tuple[int, Broker]]:
    """Those that serve."""
    for number, broker in view.opened():
        if view.acting(number).serves:
            yield number, broker
