"""Who has rights, and who takes them away: an administrator, a feeder, and two users.

The administrator, root, adds and deletes rules; the feeder, root as well, writes records with
numbers, and remembers what each broker knew before each; alice and bob write and read, by fetches
that wait and by sessions. Noted: `access.changed` count of rules; `access.served` and
`access.refused` user, operation, topic, broker, and the oldest version of the rules by which that
may have been decided.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from odradek.client.admin import access_rules, admin
from odradek.client.admin.access_rules import AccessRule
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import LATEST
from odradek.client.records.producer import Producer
from odradek.model.access import Effect, Operation, Pattern, PatternType, ResourceType, Rule
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Millis
from odradek.peers.login import Login
from odradek.peers.secured_network import Outgoing, SecuredNetwork
from odradek.ports import Address
from odradek.records.batch import headers
from odradek.records.build import build_batch
from odradek.records.record import Record, read_records
from odradek.security.mechanisms.plain import PlainClient
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.users import ROOT
from odradek.sim.stage.world import World
from odradek.sim.worlds.access.truth import AccessTruth, Question, allows
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

USERS: Final = ("alice", "bob")
TOPICS: Final = ("notes", "offers", "orders")
PATTERNS: Final = (
    *((PatternType.LITERAL, name) for name in (*TOPICS, "*")),
    *((PatternType.PREFIXED, name) for name in ("o", "or")),
)
OPERATIONS: Final = (Operation.READ, Operation.WRITE, Operation.ALL)
RULES_MAX: Final = 6
DENY_ONE_IN: Final = 4
WAIT: Final = Millis(1_500)
CHANGE_MILLIS_MAX: Final = 900
REST_MILLIS_MAX: Final = 200
LIFE_SECONDS: Final = 8.0
FETCH, PRODUCE = 12, 9
REFUSED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_SESSION: Final = -1


class AccessClients:
    """All of them, on one machine: only their names tell them apart."""

    def __init__(
        self, world: World, machine: Machine, bootstrap: Sequence[Address], truth: AccessTruth
    ) -> None:
        self._note = world.history.note
        self._machine = machine
        self._bootstrap = list(bootstrap)
        self._chance = machine.random.stream("access")
        self._truth = truth
        self._fed: dict[int, dict[int, int]] = {}  # by record: what each broker knew before
        self._ends: dict[str, int] = dict.fromkeys(TOPICS, 0)
        self._changes: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Until the machine ends."""
        await self._live(ROOT, self._make, once=True)
        async with asyncio.TaskGroup() as tasks:
            self._changes = tasks.create_task(self._live(ROOT, self._change))
            tasks.create_task(self._live(ROOT, self._feed))
            for user in USERS:
                for life in (self._write, self._read, self._read_in_session):
                    tasks.create_task(self._live(user, life))

    def end_changes(self) -> None:
        """The rules stay as they are."""
        assert self._changes is not None, "it runs"
        self._changes.cancel()

    async def audit(self) -> str:
        """What each user is answered about each topic must be what the rules come to."""
        version = self._truth.look()
        for user in USERS:
            cluster = self._cluster(user)
            try:
                for topic in TOPICS:
                    for operation in (Operation.READ, Operation.WRITE):
                        question = Question(user, operation, topic)
                        code = await self._probe(cluster, question)
                        wanted = ErrorCode.NONE if allows(version, question) else REFUSED
                        if code != wanted:
                            return f"{question} is answered {code!r}, and should be {wanted!r}"
            finally:
                cluster.close()
        return ""

    def _cluster(self, user: str) -> Cluster:
        login = Login("PLAIN", lambda: PlainClient(user, user))
        network = SecuredNetwork(self._machine.network, Outgoing(login=login))
        return Cluster(ClientDeps(network, self._machine.clock), self._bootstrap, user)

    async def _live(self, user: str, life: Any, *, once: bool = False) -> None:
        while True:
            cluster, root = self._cluster(user), self._cluster(ROOT)
            try:
                async with asyncio.timeout(LIFE_SECONDS):
                    await life(user, cluster, root)
                    if once:
                        return
            except (BrokerError, TimeoutError) as error:
                self._note(user, "client.gives_up", type(error).__name__, str(error))
            finally:
                cluster.close()
                root.close()
            await self._rest(REST_MILLIS_MAX)

    async def _rest(self, millis_max: int) -> None:
        clock = self._machine.clock
        await clock.sleep_until(Millis(clock.monotonic() + 1 + self._chance.below(millis_max)))

    def _some(self, them: Sequence[Any]) -> Any:
        return them[self._chance.below(len(them))]

    # Root

    async def _make(self, _: str, cluster: Cluster, root: Cluster) -> None:
        del root
        there = {topic.name for topic in (await cluster.refresh(None)).topics}
        for name in TOPICS:
            if name not in there:
                await admin.create_topic(cluster, admin.NewTopic(name, 1, 3))

    async def _change(self, _: str, cluster: Cluster, root: Cluster) -> None:
        del root
        while True:
            before = self._truth.look()
            rule = self._rule()
            if len(before) < RULES_MAX and rule not in before and self._chance.below(3):
                self._truth.wish(before | {rule})
                await access_rules.create(cluster, [rule])
            elif before:
                rule = self._some(sorted(before))
                self._truth.wish(before - {rule})
                await access_rules.delete(cluster, [rule.filter])
            self._note(ROOT, "access.changed", len(self._truth.look()))
            await self._rest(CHANGE_MILLIS_MAX)

    def _rule(self) -> AccessRule:
        how, name = self._some(PATTERNS)
        effect = Effect.DENY if self._chance.one_in(DENY_ONE_IN) else Effect.ALLOW
        principal = f"User:{self._some((*USERS, '*'))}"
        rule = Rule(principal, "*", self._some(OPERATIONS), effect)
        return AccessRule(Pattern(ResourceType.TOPIC, how, name), rule)

    async def _feed(self, _: str, cluster: Cluster, root: Cluster) -> None:
        del root
        producer = Producer(cluster)
        while True:
            topic = TopicPartition(self._some(TOPICS), 0)
            number = len(self._fed)
            self._fed[number] = {it: self._truth.known(it) for it in (1, 2, 3)}
            producer.add(topic, b"%d" % number)
            await producer.flush()
            self._ends |= {
                it.topic: end for it, end in (await offsets_at(cluster, [topic], LATEST)).items()
            }
            await self._rest(REST_MILLIS_MAX)

    # Users

    async def _write(self, user: str, cluster: Cluster, root: Cluster) -> None:
        while True:
            question = Question(user, Operation.WRITE, self._some(TOPICS))
            leader = await root.leader_id(TopicPartition(question.topic, 0))
            connection = await cluster.broker(leader)
            since = self._truth.known(leader)
            answer = await connection.ask(_production(question.topic), PRODUCE)
            self._judge(question, leader, since, _code(answer.responses[0].partition_responses))
            await self._rest(REST_MILLIS_MAX)

    async def _read(self, user: str, cluster: Cluster, root: Cluster) -> None:
        """From the end on: nearly always it waits."""
        while True:
            question = Question(user, Operation.READ, self._some(TOPICS))
            leader = await root.leader_id(TopicPartition(question.topic, 0))
            connection = await cluster.broker(leader)
            wanted = _wanted(question.topic, self._ends[question.topic])
            request = FetchRequest(
                session_epoch=NO_SESSION, topics=wanted, min_bytes=1, max_wait_ms=WAIT
            )
            since = self._truth.known(leader)
            self._look_at(user, leader, since, await connection.ask(request, FETCH))
            await self._rest(REST_MILLIS_MAX)

    async def _read_in_session(self, user: str, cluster: Cluster, root: Cluster) -> None:
        """All topics that one broker leads, named once."""
        leaders = {it: await root.leader_id(TopicPartition(it, 0)) for it in TOPICS}
        leader = self._some(sorted(set(leaders.values())))
        mine = [it for it in TOPICS if leaders[it] == leader]
        connection = await cluster.broker(leader)
        named = [row for it in mine for row in _wanted(it, self._ends[it])]
        session = epoch = 0
        while True:
            request = FetchRequest(
                session_id=session,
                session_epoch=epoch,
                topics=named,
                min_bytes=1,
                max_wait_ms=WAIT,
            )
            since = self._truth.known(leader)
            answer = await connection.ask(request, FETCH)
            if answer.error_code:
                return
            read = self._look_at(user, leader, since, answer)
            session, epoch = answer.session_id, epoch + 1
            named = [row for it, end in read.items() for row in _wanted(it, end)]
            await self._rest(REST_MILLIS_MAX)

    def _look_at(self, user: str, leader: int, since: int, answer: Any) -> dict[str, int]:
        """Judges each row; where the records of those that were served end."""
        found = {}
        for row in answer.responses:
            question = Question(user, Operation.READ, row.topic)
            records = [
                record
                for part in row.partitions
                for at, header in headers(part.records or b"", cut_tail=True)
                for record in read_records(part.records, header, at)
            ]
            numbers = [int(it.value) for it in records if it.value and it.value != OF_USERS]
            newest = max((self._fed[it][leader] for it in numbers), default=0)
            self._judge(question, leader, max(since, newest), _code(row.partitions))
            if records:
                found[row.topic] = records[-1].offset + 1
        return found

    def _judge(self, question: Question, leader: int, since: int, code: ErrorCode) -> None:
        if code in {ErrorCode.NONE, REFUSED}:
            what = "access.refused" if code else "access.served"
            self._note(question.user, what, *question[1:], leader, since)

    async def _probe(self, cluster: Cluster, question: Question) -> ErrorCode:
        root = self._cluster(ROOT)
        try:
            leader = await root.leader_id(TopicPartition(question.topic, 0))
        finally:
            root.close()
        connection = await cluster.broker(BrokerId(leader))
        if question.operation is Operation.WRITE:
            answer = await connection.ask(_production(question.topic), PRODUCE)
            return _code(answer.responses[0].partition_responses)
        end = self._ends[question.topic]
        request = FetchRequest(
            session_epoch=NO_SESSION, topics=_wanted(question.topic, end), max_wait_ms=0
        )
        answer = await connection.ask(request, FETCH)
        return _code(answer.responses[0].partitions)


OF_USERS: Final = b"-"


def _production(topic: str) -> ProduceRequest:
    data = [PartitionProduceData(0, build_batch([Record(0, 1, None, OF_USERS)]))]
    return ProduceRequest(None, 1, 5_000, [TopicProduceData(topic, partition_data=data)])


def _wanted(topic: str, offset: int) -> list[FetchTopic]:
    return [FetchTopic(topic, partitions=[FetchPartition(0, fetch_offset=offset)])]


def _code(rows: Sequence[Any]) -> ErrorCode:
    return ErrorCode(rows[0].error_code)
