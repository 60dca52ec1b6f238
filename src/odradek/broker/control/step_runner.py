"""Carries out the steps of the controller's core, one after the other, while the lease holds.

A controller that was replaced, or whose session is over, stops in the middle: what was written
stands, and the next controller reads it. Brokers are never waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import structlog

from odradek.broker.control.broker_channels import BrokerChannels
from odradek.broker.control.event_times import EventTimes
from odradek.broker.settings import Settings
from odradek.controller.candidacy import ControllerLease
from odradek.controller.guarded_writes import GuardedWrites
from odradek.controller.steps import (
    Attempt,
    Commit,
    Connect,
    Note,
    Read,
    Remind,
    Send,
    StatesWritten,
    Step,
    Steps,
    TopicIsGone,
    TopicIsMade,
    WriteStates,
)
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.cluster import ControllerEpochZnode
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.zookeeper.client.errors import (
    AuthFailed,
    MultiFailed,
    OutcomeUnknown,
    SessionClosed,
    SessionExpired,
)
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Results
from odradek.zookeeper.protocol.jute_requests import Check, Multi, Request

R = TypeVar("R")
log = structlog.get_logger()


class LeaseIsOverError(Exception):
    """This broker may not act as the controller any more."""


class StepRunner:
    """The lease, and the means by which a controller acts."""

    def __init__(
        self,
        client: ZooKeeperClient,
        settings: Settings,
        times: EventTimes,
        remind: Callable[[Remind], None],
    ) -> None:
        self.times = times
        self.lease: ControllerLease | None = None  # from the election on
        self.channels: BrokerChannels | None = None
        self._client = client
        self._settings = settings
        self._remind = remind

    async def take(self, steps: Steps[R]) -> R:
        """Carries them out; a LeaseIsOverError if the lease ends meanwhile."""
        lease, outcome, times = self.lease, None, self.times
        times.resume()
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                times.spent()
                result: R = end.value
                return result
            times.spent()
            outcome = await self._carry_out(step)
            times.spent(step)
            if lease is not self.lease:
                raise LeaseIsOverError("the controller resigned meanwhile")

    async def wait_for(self, work: Awaitable[None]) -> None:
        """What is no step; a LeaseIsOverError if the lease ends meanwhile."""
        lease = self.lease
        await work
        if lease is not self.lease:
            raise LeaseIsOverError("the controller resigned meanwhile")

    async def _carry_out(self, step: Step) -> Any:
        match step:
            case Read(requests):
                return await self._read(requests)
            case Attempt(multi):
                return (await self._batch([multi]))[0]
            case WriteStates(writes):
                assert self.lease is not None, step
                return await self._write(GuardedWrites(self.lease, writes))
            case Commit(multis):
                assert self.lease is not None, step
                return await self._commit(self.lease, multis)
            case Connect(brokers):
                if self.channels is not None:
                    self.channels.set_brokers(brokers)
            case Send(messages):
                for receivers, message in messages:
                    if self.channels is not None:
                        self.channels.send(receivers, message)
                await asyncio.sleep(0)  # what comes next is built in another turn
            case TopicIsMade(name, settings, written_at):
                self._settings.on_entity(Entity(EntityType.TOPICS, name), settings, written_at)
            case TopicIsGone(name):
                self._settings.forget_topic(name)
            case Remind():
                self._remind(step)
            case Note(event, fields):
                log.info(event, **fields)
        return None

    async def _batch(self, requests: Sequence[Request]) -> list[Answer]:
        answers = await self._client.batch(requests)
        for answer in answers:
            if isinstance(answer, SessionExpired | SessionClosed | AuthFailed):
                raise LeaseIsOverError(str(answer))
        return answers

    async def _read(self, requests: Sequence[Request]) -> list[Answer]:
        """Reads are asked again until there is an answer."""
        answers = await self._batch(requests)
        while unknown := [at for at, it in enumerate(answers) if isinstance(it, OutcomeUnknown)]:
            again = await self._batch([requests[at] for at in unknown])
            for at, answer in zip(unknown, again, strict=True):
                answers[at] = answer
        return answers

    async def _write(self, rounds: GuardedWrites) -> StatesWritten:
        while requests := rounds.requests():
            rounds.on_answers(await self._batch(requests))
        if rounds.stopped is not None:
            raise LeaseIsOverError(rounds.stopped)
        return StatesWritten(tuple(rounds.written), rounds.conflicts, rounds.failed)

    async def _commit(self, lease: ControllerLease, multis: Sequence[Multi]) -> list[Answer]:
        guard = Check(ControllerEpochZnode.PATH, lease.epoch_version)
        answers = await self._batch([Multi((guard, *multi.ops)) for multi in multis])
        return [_without_guard(answer) for answer in answers]


def _without_guard(answer: Answer) -> Answer:
    """As if the multi had not begun with the check of the epoch."""
    if isinstance(answer, MultiFailed) and answer.index is not None:
        if answer.index == 0:
            raise LeaseIsOverError(f"another controller has taken over: {answer.cause}")
        return MultiFailed(answer.cause, answer.index - 1)
    if isinstance(answer, Results):
        return Results(answer.results[1:])
    assert isinstance(answer, KeeperError), answer
    return answer
