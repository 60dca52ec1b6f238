"""The token that a process shows: when an issuer is asked, and who waits for it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.model.units import SECOND, Millis
from odradek.peers.token_source import PAUSE_MIN, REFUSED_PAUSE, TokenSource, end_of
from odradek.ports import Clock
from odradek.security.errors import AuthenticationFailed
from odradek.sim.stage.world import World
from tests.unit.security.tokens_of_tests import claims, token

HOUR = 3_600


class Issuer:
    """Gives a token behind a pause, or does not."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.asked: list[Millis] = []
        self.is_away = False
        self.seconds = 0.0  # that it takes
        self.lasts = HOUR

    def fetch(self) -> "asyncio.Future[str]":
        """One question."""
        loop = asyncio.get_running_loop()
        self.asked.append(self.clock.monotonic())
        answer: asyncio.Future[str] = loop.create_future()
        loop.call_later(self.seconds, self._answer, answer)
        return answer

    def _answer(self, answer: "asyncio.Future[str]") -> None:
        if self.is_away:
            answer.set_exception(AuthenticationFailed("it answers 503"))
        else:
            answer.set_result(token(claims(exp=self.clock.wall() / SECOND + self.lasts)))


def play(conversation: Callable[[Issuer, TokenSource], Coroutine[Any, Any, None]]) -> None:
    """On a machine of its own."""

    async def for_ever(_: Any) -> None:
        await asyncio.get_running_loop().create_future()

    with World(1) as world:
        machine = world.machine("shows")
        machine.start(for_ever)
        issuer = Issuer(machine.clock)
        world.ask(
            "shows",
            conversation(issuer, TokenSource(machine.clock, issuer.fetch)),
            seconds=3 * HOUR,
        )


def shown(source: TokenSource) -> bytes:
    """What the other side is told."""
    return source.mechanism().first()


async def passes(issuer: Issuer, seconds: float) -> None:
    """So much time."""
    clock = issuer.clock
    await clock.sleep_until(Millis(int(clock.monotonic() + seconds * SECOND)))


def test_many_connections_ask_once() -> None:
    """All wait for the same answer; the next ones have it."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        issuer.seconds = 3
        await asyncio.gather(*(source.ready() for _ in range(20)))
        await source.ready()
        assert len(issuer.asked) == 1

    play(conversation)


def test_a_connection_that_is_given_up_takes_the_answer_of_no_other() -> None:
    """One that waits no longer leaves the question to the others."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        issuer.seconds = 3
        async with asyncio.TaskGroup() as tasks:
            impatient = tasks.create_task(source.ready())
            patient = tasks.create_task(source.ready())
            await passes(issuer, 1)
            impatient.cancel()
        assert patient.done()
        assert shown(source)

    play(conversation)


def test_another_token_is_there_before_the_first_ends() -> None:
    """An issuer that is slow by then makes no connection wait."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        await source.ready()
        first = shown(source)
        issuer.seconds = 8
        await passes(issuer, HOUR * 0.8 + 1)
        assert len(issuer.asked) == 2
        begun = issuer.clock.monotonic()
        await source.ready()
        assert issuer.clock.monotonic() == begun
        assert shown(source) == first
        await passes(issuer, 10)
        assert shown(source) != first

    play(conversation)


def test_an_issuer_that_is_away_is_asked_after_pauses() -> None:
    """The token before is shown until it ends; then connections are told why there is none."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        await source.ready()
        issuer.is_away = True
        await passes(issuer, HOUR * 0.9)
        await source.ready()
        await passes(issuer, HOUR * 0.1)
        assert len(issuer.asked) < HOUR * 0.2 / 10 + 10
        before = len(issuer.asked)
        for _ in range(100):
            with pytest.raises(AuthenticationFailed, match="503"):
                await source.ready()
        assert len(issuer.asked) == before
        issuer.is_away = False
        await passes(issuer, 11)
        await source.ready()

    play(conversation)


def test_an_issuer_that_is_away_at_the_start() -> None:
    """Is said at once; it is asked again by itself."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        issuer.is_away = True
        with pytest.raises(AuthenticationFailed, match="503"):
            await source.ready()
        with pytest.raises(AuthenticationFailed, match="503"):
            shown(source)
        issuer.is_away = False
        await passes(issuer, 2 * PAUSE_MIN / SECOND)
        await source.ready()
        assert len(issuer.asked) == 2

    play(conversation)


def test_a_refused_token_is_followed_by_another_but_not_at_once() -> None:
    """One that has lost its key is refused by all; the one before is shown until another comes."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        await source.ready()
        for _ in range(100):
            source.refused()
        assert len(issuer.asked) == 1
        await passes(issuer, REFUSED_PAUSE / SECOND)
        first = shown(source)
        for _ in range(100):
            source.refused()
        assert shown(source) == first
        await passes(issuer, 1)
        assert len(issuer.asked) == 2
        assert shown(source) != first

    play(conversation)


def test_a_token_that_has_ended_when_it_comes() -> None:
    """A file that is renewed by nothing: it is said, and looked at again, not in a circle."""

    async def conversation(issuer: Issuer, source: TokenSource) -> None:
        issuer.lasts = -5
        await source.ready()
        await passes(issuer, 60)
        assert 2 < len(issuer.asked) < 10

    play(conversation)


@pytest.mark.parametrize(
    "said", ["", "a.b", "a.b.c", "a.e30.c", token(claims(exp="x")), token(claims(exp=None))]
)
def test_a_token_that_does_not_say_its_end(said: str) -> None:
    """It is asked for at each connection."""
    assert end_of(said) is None
