"""What is wrong in a cluster: causes from its controller, and log dirs as each broker sees its own.

Kafka's brokers do not know the controller's operation. For them the same is concluded from
metadata, which tells less: not why a live replica may not lead, nor what a deletion waits for.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from odradek.cli.brokers.sick import Sick
from odradek.cli.brokers.zookeeper_away import zookeeper_reach
from odradek.cli.reaching.naming import answer_seconds, silence
from odradek.cli.reaching.who_answers import LeadsElsewhere, told_apart
from odradek.cli.replicas import throttle
from odradek.cli.replicas.log_dir_throttle import copies
from odradek.cli.replicas.logdirs import log_dirs_of
from odradek.cli.showing.cells import Size, cell
from odradek.cli.words.failing import plain
from odradek.client.admin.operations import Wanted, operate
from odradek.client.admin.placement import NOTHING_MOVES, Ongoing, reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import (
    BROKER_HOST,
    CERTIFICATES_DESCRIBE,
    CLUSTER_HEALTH,
    CONTROLLER_PLACEMENT,
    COORDINATORS_DESCRIBE,
    FETCHERS_DESCRIBE,
    LOG_DIRS_DESCRIBE,
    MOVES_DESCRIBE,
    AdminOperation,
)
from odradek.model.causes import CauseKind
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode, UnsupportedVersion
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.moments import moment_text
from odradek.model.units import MIB, SECOND, Millis
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsResult
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponsePartition

NOTHING_DECIDED: Final = "nothing is decided"
SAID_LATER: Final = "health says more once its session is over, in some seconds"
CUT_OFF: Final = "cut off from ZooKeeper"
NO_LEADER: Final = "no leader"
DELETION_WAITS: Final = "deletion waits"
REASSIGNMENT_WAITS: Final = "reassignment waits"
CAPPED: Final = "min.insync.replicas counts as the number of replicas"
"""As the controller calls effects."""

THROTTLE_LEFT: Final = "throttle left"
DISK_MAY_FAIL: Final = "disk may fail soon"
DISK_FULL: Final = "disk full"
DISK_NEARLY_FULL: Final = "disk nearly full"
FREE_MIN: Final = 0.1
"""Less is nearly full, for the alert as well; `FULL_BYTES` hold no batch of the usual maximum."""
FULL_BYTES: Final = MIB
MAKE_ROOM: Final = "make room: odradek logdirs balance, a shorter retention.ms, or topic trim"
MOVE_STANDS: Final = "reassignment stands"
DIR_MOVE_STANDS: Final = "move between log dirs stands"
STANDS: Final = Millis(60 * SECOND)
APART: Final = Millis(5 * SECOND)
"""A leader that was killed is looked for so long by its followers, until its session is over."""
CORRUPT_NEXT: Final = "mended once another replica is in sync; look at the disk"
COORDINATOR_REFUSES: Final = "coordinator refuses"
BROKERS_APART: Final = "brokers apart"
REFUSES_NEXT: Final = (
    "start the brokers of its other replicas, else runbook A coordinator that refuses"
)
FILES_MOSTLY_OPEN: Final = "too many open files"
FILES_SHARE: Final = 0.8
"""More of those that a process may open are too many, for the alert as well."""
CERTIFICATE_ENDS: Final = "certificate ends soon"
MOVES_OFTEN: Final = "controller moves often"
MOVES_MAX: Final = 4
OFTEN_WITHIN: Final = Millis(30 * 60 * SECOND)
"""More moves in that time are too many, for the alert as well."""
WHY_IT_MOVES: Final = "odradek controller history says why"
WARNINGS: Final = frozenset(
    {
        DELETION_WAITS,
        REASSIGNMENT_WAITS,
        CAPPED,
        THROTTLE_LEFT,
        DISK_MAY_FAIL,
        DISK_NEARLY_FULL,
        CERTIFICATE_ENDS,
        FILES_MOSTLY_OPEN,
        MOVE_STANDS,
        DIR_MOVE_STANDS,
        MOVES_OFTEN,
    }
)
"""What may last for weeks, and what a restart of a broker makes no worse."""


async def sick(cluster: Cluster) -> list[Sick]:
    """All that is wrong."""
    found = await decided_problems(cluster)
    silent, told = await _asked_of_brokers(cluster, sorted(cluster.brokers))
    awake = sorted(cluster.brokers.keys() - silent)
    rates = await throttle.rates_of(cluster, awake)
    left = await _left_throttle(cluster, awake, rates)
    return [*by_silence([*found, *(bounded(it, rates) for it in told)], silent), *left]


def bounded(it: Sick, rates: throttle.Rates) -> Sick:
    """A move to which nothing comes, with the throttle of its brokers: it may be too low."""
    is_between_dirs = it.problem == DIR_MOVE_STANDS
    if it.problem != MOVE_STANDS and not is_between_dirs:
        return it
    kept = rates.log_dirs if is_between_dirs else rates.moves
    mine = {broker: kept[broker] for broker in it.brokers if broker in kept}
    if not mine:
        return it
    told = throttle.told_of_log_dirs(mine) if is_between_dirs else throttle.told(mine)
    return it._replace(cause=f"{it.cause}; {told}: {throttle.RAISE}, or {throttle.LIFT}")


def no_answer(broker: int) -> str:
    """What is told of one that was asked in vain."""
    return f"no answer from broker {broker}"


def by_silence(found: Sequence[Sick], silent: Collection[int]) -> list[Sick]:
    """What follows from a broker that does not answer has that for its cause.

    One that has just died is registered until its session is over: until then the controller says
    that it, or its followers, have not caught up, and these that they do not reach it. Then that it
    is not registered says all.
    """
    causes = {it.cause for it in found}
    ended = {no_answer(it) for it in silent if f"broker {it} is not registered" in causes}
    kept: dict[tuple[str, str], Sick] = {}
    for it in found:
        follows = it.kind in {CauseKind.BEHIND, CauseKind.APART}
        gone = [number for number in it.brokers if number in silent] if follows else []
        is_said = it.problem in ended and it.kind is not CauseKind.ELSEWHERE
        if is_said or (gone and it.kind is CauseKind.APART):
            continue
        told = it if not gone else _silent(gone[0], it)
        known = kept.get((told.cause, told.problem))
        kept[told.cause, told.problem] = told if known is None else _together(known, told)
    return list(kept.values())


def _silent(broker: int, it: Sick) -> Sick:
    cause = f"broker {broker} does not answer"
    return Sick(cause, it.problem, it.partitions, brokers=(broker,))


def _together(first: Sick, second: Sick) -> Sick:
    found = {it: [*at] for it, at in first.partitions.items()}
    for topic, numbers in second.partitions.items():
        found[topic] = sorted({*found.get(topic, ()), *numbers})
    return first._replace(partitions=found)


async def decided_problems(cluster: Cluster) -> list[Sick]:
    """What the controller knows of: no other broker is asked."""
    answer = await cluster.refresh([])
    found = await _controller_problems(cluster, answer)
    if any(it.problem == NOTHING_DECIDED for it in found):
        return [*found, *_concluded(await cluster.refresh(None), {})]
    return [*found, *await _partition_problems(cluster)]


async def _left_throttle(
    cluster: Cluster, brokers: Sequence[BrokerId], found: throttle.Rates
) -> list[Sick]:
    """Of a move that is over: it would bound the next one. Each broker knows all topics."""
    topics = await _throttled_topics(cluster, brokers[0]) if brokers else []
    left = throttle.told_of_left(found.moves, topics)
    told = [left] if left and not await reassignments_if_known(cluster) else []
    idle = {it: rate for it, rate in found.log_dirs.items() if not await copies(cluster, it)}
    told += [throttle.told_of_log_dirs(idle)] if idle else []
    return [Sick(f"{it}, and nothing is moved: {throttle.LIFT}", THROTTLE_LEFT) for it in told]


async def _throttled_topics(cluster: Cluster, broker: BrokerId) -> Sequence[str]:
    try:
        told = await operate(cluster, Wanted(MOVES_DESCRIBE, resource=str(broker), broker=broker))
    except BrokerError:
        return []
    found: Sequence[str] = told.get("throttled", ())
    return found


async def deletions_that_wait(cluster: Cluster) -> dict[str, list[str]]:
    """What each topic's deletion waits for that does not come by itself."""
    try:
        health = await operate(cluster, Wanted(CLUSTER_HEALTH))
    except UnsupportedVersion:
        return {}
    found: dict[str, list[str]] = {}
    for problem in health["problems"]:
        for topic in problem["effects"].get(DELETION_WAITS, ()):
            if problem.get("kind") != CauseKind.BEING_DELETED:
                found.setdefault(topic, []).append(problem["cause"])
    return found


async def why_leaderless(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, str]:
    """What each partition that has no leader waits for."""
    wanted = list(partitions)
    found: dict[TopicPartition, list[str]] = {it: [] for it in wanted}
    for it in await leaderless(cluster):
        for topic, numbers in it.partitions.items():
            for partition in (TopicPartition(topic, number) for number in numbers):
                if partition in found:
                    found[partition].append(it.cause)
    return {it: f"no leader: {', '.join(why) or 'an election'}" for it, why in found.items()}


async def leaderless(cluster: Cluster) -> list[Sick]:
    """Why partitions have no leader; also those that brokers do not know of, or know otherwise."""
    return [it for it in await _partition_problems(cluster) if it.problem == NO_LEADER]


async def _partition_problems(cluster: Cluster) -> list[Sick]:
    asked = await cluster.any()
    try:
        async with asyncio.timeout(answer_seconds()):
            return _told(await operate(cluster, Wanted(CLUSTER_HEALTH)))
    except UnsupportedVersion:
        moves = await reassignments_if_known(cluster)
        return _concluded(await cluster.refresh(None), moves)
    except TimeoutError:
        asked.close()  # what is asked next would wait behind this
        answer = await cluster.refresh(None)
        cause = f"broker {answer.controller_id} is the controller and does not answer"
        return [Sick(cause, NOTHING_DECIDED), *_concluded(answer, {})]


async def _controller_problems(cluster: Cluster, answer: MetadataResponse) -> list[Sick]:
    """That there is none, as ZooKeeper has it, for brokers may name the last one; or many moves."""
    try:
        found = await operate(cluster, Wanted(CONTROLLER_PLACEMENT))
    except UnsupportedVersion:
        is_missing = answer.controller_id < 0
        return [Sick("no controller is elected", NOTHING_DECIDED)] if is_missing else []
    except BrokerError as error:
        if error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
            raise
        return [await _cut_off(cluster)]
    if found["controller"] is None:
        cause = "no controller is elected"
        if not found["preferred"] and not found["fallback"]:
            cause = (
                "no preferred broker lives, and allow.preferred.controller.fallback is false: "
                "`odradek controller prefer BROKER` gives the cluster a controller"
            )
        return [Sick(cause, NOTHING_DECIDED)]
    moves = moved_since(found["controllers"], cluster.world.clock.wall() - OFTEN_WITHIN)
    if moves <= MOVES_MAX:
        return []
    return [Sick(f"it has moved {moves} times in half an hour: {WHY_IT_MOVES}", MOVES_OFTEN)]


async def _cut_off(cluster: Cluster) -> Sick:
    """Nothing is decided if no broker reaches ZooKeeper; otherwise one that does may decide."""
    reach = await zookeeper_reach(cluster)
    if not reach.away:
        return Sick("ZooKeeper was away a moment ago", NOTHING_DECIDED)
    problem = CUT_OFF if reach.there else NOTHING_DECIDED
    return Sick(reach.text, problem, brokers=tuple(reach.away))


def moved_since(controllers: Sequence[Mapping[str, Any]], moment: int) -> int:
    """How often another broker, or the same anew, became the controller; the first did not move."""
    return sum(it["since"] > moment for it in controllers[1:])


def _told(health: Mapping[str, Any]) -> list[Sick]:
    """As the controller says; one of an older release names no kinds."""
    return [
        Sick(problem["cause"], effect, partitions, _kind(problem), (*problem.get("brokers", ()),))
        for problem in health["problems"]
        for effect, partitions in problem["effects"].items()
    ]


def _kind(problem: Mapping[str, Any]) -> CauseKind:
    told = problem.get("kind")
    return CauseKind(told) if told in set(CauseKind) else CauseKind.OTHER


def _concluded(answer: MetadataResponse, moves: Mapping[TopicPartition, Ongoing]) -> list[Sick]:
    """Partitions without a leader, and with replicas out of sync that are not being added."""
    alive = {broker.node_id for broker in answer.brokers}
    found: dict[tuple[str, str], tuple[Sick, dict[str, list[int]]]] = {}
    for topic in sorted(answer.topics, key=lambda it: it.name or ""):
        for row in sorted(topic.partitions, key=lambda it: it.partition_index):
            move = moves.get(TopicPartition(topic.name or "", row.partition_index), NOTHING_MOVES)
            there = {*row.isr_nodes, *move.adding}
            missing = [it for it in row.replica_nodes if it not in there]
            might_lead = row.isr_nodes or row.replica_nodes
            for broker in might_lead if row.leader_id < 0 else missing:
                sick = _state(broker, row, alive)
                _, where = found.setdefault((sick.cause, sick.problem), (sick, {}))
                where.setdefault(topic.name or "", []).append(row.partition_index)
    return [sick._replace(partitions=where) for sick, where in found.values()]


def _state(broker: int, row: MetadataResponsePartition, alive: set[int]) -> Sick:
    problem = NO_LEADER if row.leader_id < 0 else "out of sync"
    if broker not in alive:
        return Sick(f"broker {broker} is not registered", problem)
    if broker in row.offline_replicas:  # one that is gone is listed, too
        return Sick(f"broker {broker} or its replica is offline", problem)
    if row.leader_id < 0:
        return Sick(f"broker {broker} is there and was not elected", problem)
    text = f"broker {broker} has not caught up with broker {row.leader_id} yet"
    both = (broker, row.leader_id)
    return Sick(text, problem, kind=CauseKind.BEHIND, brokers=both)


async def _asked_of_brokers(
    cluster: Cluster, brokers: Iterable[BrokerId]
) -> tuple[set[BrokerId], list[Sick]]:
    """Who does not answer; that, and what each of the others tells of its own."""
    async with asyncio.TaskGroup() as tasks:
        asked = {it: tasks.create_task(_sick_broker(cluster, it)) for it in brokers}
    told = {it: task.result() for it, task in asked.items()}
    silent = {it for it, found in told.items() if isinstance(found, Sick)}
    return silent, [one for found in told.values() for one in _each(found)]


def _each(found: list[Sick] | Sick) -> list[Sick]:
    return [found] if isinstance(found, Sick) else found


async def _sick_broker(cluster: Cluster, broker: BrokerId) -> list[Sick] | Sick:
    """Or why it does not answer: one that stands still is listed until its session is over."""
    problem = no_answer(broker)
    try:
        async with asyncio.timeout(answer_seconds()):
            await cluster.broker(broker)
            with told_apart(cluster, broker):
                return await _what_it_tells(cluster, broker)
    except LeadsElsewhere as error:
        return Sick(str(error), problem, kind=CauseKind.ELSEWHERE, brokers=(broker,))
    except (BrokerError, TimeoutError) as error:
        why = silence(error)
        if isinstance(error, TimeoutError):
            why = f"broker {broker}: {why}; {SAID_LATER}"
        return Sick(why, problem, brokers=(broker,))


async def _what_it_tells(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    dirs = await _log_dirs_to_see_to(cluster, broker)
    ends = await _certificates_to_renew(cluster, broker)
    refusing = await _coordinators_that_refuse(cluster, broker)
    apart = await _leaders_out_of_reach(cluster, broker)
    moves = await _moves_that_stand(cluster, broker)
    files = await _open_files(cluster, broker)
    return [*dirs, *refusing, *apart, *ends, *moves, *files]


async def _told_by(
    cluster: Cluster, broker: BrokerId, operation: AdminOperation, name: str
) -> list[Mapping[str, Any]]:
    """What a broker says of itself under this name; nothing if it is older than the question."""
    try:
        told = await operate(cluster, Wanted(operation, resource=str(broker), broker=broker))
    except UnsupportedVersion:
        return []
    found: list[Mapping[str, Any]] = told[name]
    return found


async def _log_dirs_to_see_to(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    """Those that failed or hang, and those that still work and should be replaced."""
    wanted = Wanted(LOG_DIRS_DESCRIBE, resource=str(broker), broker=broker)
    try:
        dirs = (await operate(cluster, wanted))["dirs"]
    except UnsupportedVersion:
        dirs = [_as_kafka_tells(it) for it in await log_dirs_of(cluster, broker)]
    return [
        Sick(f"broker {broker}: {it['dir']}{why}", problem)
        for it in dirs
        for problem, why in (*problems_of_log_dir(it), *_lack_of_room(it))
    ]


def _as_kafka_tells(found: DescribeLogDirsResult) -> dict[str, Any]:
    """In the words of ours."""
    state = "offline" if found.error_code else "online"
    room = {"free": found.usable_bytes, "total": found.total_bytes}
    return {"dir": found.log_dir, "state": state, **(room if found.total_bytes > 0 else {})}


def _lack_of_room(log_dir: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    free, total = log_dir.get("free"), log_dir.get("total")
    if free is None or not total:
        return
    problem = lack_of_room(free, total)
    if problem is not None:
        left, whole = (cell(Size(it), for_people=True) for it in (free, total))
        yield problem, f": {left} of {whole} free; {MAKE_ROOM}"


def lack_of_room(free: int, total: int) -> str | None:
    """What is wrong with a disk that has so much left, if anything."""
    if free < FULL_BYTES:
        return DISK_FULL
    return DISK_NEARLY_FULL if free < total * FREE_MIN else None


async def _certificates_to_renew(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    """Those that have ended or will soon; with them clients and brokers stay away."""
    found = await _told_by(cluster, broker, CERTIFICATES_DESCRIBE, "certificates")
    return [
        Sick(
            f"broker {broker}: the certificate of listener {it['listener']} ends "
            f"{moment_text(it['ends'])}",
            CERTIFICATE_ENDS if it["left"] > 0 else "certificate has ended",
        )
        for it in found
        if it["soon"]
    ]


async def _open_files(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    """Before connections have to wait: then health would not be answered either."""
    wanted = Wanted(BROKER_HOST, resource=str(broker), broker=broker)
    try:
        figures = (await operate(cluster, wanted))["figures"]
    except UnsupportedVersion:
        return []
    count, most = figures.get("process_open_fds", 0), figures.get("process_max_fds", 0)
    if count <= most * FILES_SHARE:
        return []
    text = f"broker {broker} has {counted(count, 'file')} open, of {most} that it may"
    return [Sick(f"{text}; odradek broker clients {broker}", FILES_MOSTLY_OPEN)]


async def _coordinators_that_refuse(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    """Groups and transactions of partitions that have a leader, which cannot read their logs."""
    unreadable = await _told_by(cluster, broker, COORDINATORS_DESCRIBE, "unreadable")
    return [
        Sick(
            f"broker {broker} cannot read the log: {it['why']}; {REFUSES_NEXT}",
            COORDINATOR_REFUSES,
            {it["topic"]: [it["partition"]]},
        )
        for it in unreadable
    ]


async def _leaders_out_of_reach(cluster: Cluster, broker: BrokerId) -> list[Sick]:
    """Those that are registered, and do not answer this follower."""
    unreached = await _told_by(cluster, broker, FETCHERS_DESCRIBE, "unreached")
    return [
        Sick(
            f"broker {broker} does not reach broker {it['leader']}: {plain(it['error'])}",
            BROKERS_APART,
            it["partitions"],
            CauseKind.APART,
            (it["leader"],),
        )
        for it in unreached
        if it["for_ms"] >= APART and it["leader"] in cluster.brokers
    ]


async def _moves_that_stand(cluster: Cluster, leader: BrokerId) -> list[Sick]:
    """Copies for a living broker, or for another log dir of this one, to which nothing comes."""
    moves = await _told_by(cluster, leader, MOVES_DESCRIBE, "moves")
    found: dict[tuple[str, str, tuple[int, ...]], dict[str, list[int]]] = {}
    for it in moves:
        to = it["broker"]
        if it["stands"] < STANDS or to not in cluster.brokers:
            continue
        if "log_dir" in it:
            text = f"nothing has come to {it['log_dir']} of broker {leader}"
            what = f"{text} for a minute", DIR_MOVE_STANDS, (leader,)
        else:
            text = f"broker {to} has copied nothing from broker {leader}"
            what = f"{text} for a minute", MOVE_STANDS, tuple(sorted((to, leader)))
        found.setdefault(what, {}).setdefault(it["topic"], []).append(it["partition"])
    return [
        Sick(text, problem, where, brokers=brokers)
        for (text, problem, brokers), where in found.items()
    ]


def problems_of_log_dir(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of one that its broker describes: what is wrong, and why."""
    if found["state"] == "offline":
        yield "log dir offline", ""
        return
    if found["state"] == "hangs":
        yield "disk hangs", ""
    for it in found.get("corrupt", ()):
        where = f"{it['file']} is corrupt at byte {it['position']}, offset {it['offset']}"
        yield "corrupt batch", f": {where}: {CORRUPT_NEXT}"
    if found.get("reason"):
        yield DISK_MAY_FAIL, f": {found['reason']}"
