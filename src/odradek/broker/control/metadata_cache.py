"""The cluster as this broker was told it is, and who wants to hear of changes.

What is here comes from the controller alone. A message of an earlier controller, or for an earlier
life of this broker, has no effect. When the broker stops, who waits for a change waits in vain: a
TimeoutError.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from odradek.controller.messages import FULL, INCREMENTAL
from odradek.metadata.image import ClusterImage
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.model.positions import NO_BROKER_EPOCH, BrokerEpoch, ControllerEpoch

T = TypeVar("T")
Watcher = Callable[[ClusterImage, ClusterImage], None]


class StaleControllerEpoch(BrokerError):
    """Another controller has taken over since this one decided."""

    code = ErrorCode.STALE_CONTROLLER_EPOCH


class StaleBrokerEpoch(BrokerError):
    """It was meant for an earlier life of this broker."""

    code = ErrorCode.STALE_BROKER_EPOCH


class AnotherController(BrokerError):
    """The one that was asked is the controller no more."""

    code = ErrorCode.NOT_CONTROLLER


class MetadataCache:
    """The image, and the epochs that guard it."""

    def __init__(self) -> None:
        self.me = NO_BROKER  # until it has its number
        self.image = ClusterImage()
        self.cluster_id = ""
        self.controller_epoch = ControllerEpoch(0)
        self.broker_epoch = NO_BROKER_EPOCH  # of this life, once it is registered
        self.led_in = NO_BROKER_EPOCH  # for which life a controller has said last what it leads
        self.is_whole = False  # a controller has named all that there is
        self._begun: tuple[ControllerEpoch, BrokerEpoch] | None = None  # whose whole, in which life
        self.watchers: list[Watcher] = []
        self.vanished: dict[BrokerId, None] = {}
        """Whose process has just ended, as far as can be seen (`vanished_brokers`)."""
        self._is_decided: dict[str, bool] = {}  # of topics, for as long as nothing changes
        self._waiting: list[_Waiting] = []
        self.is_closed = False  # this broker stops

    def close(self) -> None:
        """This broker stops: who waits for news of the cluster has waited long enough."""
        self.is_closed = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.give_up()

    def check(self, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch) -> None:
        """Refuses a controller of the past; remembers one that is newer."""
        if controller_epoch < self.controller_epoch:
            raise StaleControllerEpoch(
                f"controller epoch {controller_epoch}; {self.controller_epoch} was here before"
            )
        if NO_BROKER_EPOCH < broker_epoch < self.broker_epoch:
            raise StaleBrokerEpoch(f"broker epoch {broker_epoch}; now it is {self.broker_epoch}")
        self.controller_epoch = controller_epoch

    def begins_anew(
        self, kind: int, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch
    ) -> bool:
        """What comes is metadata of this type: whether all that there is begins with it.

        A controller sends the whole once to each life of a broker. It may arrive twice: sent again
        on another connection, and behind that what was on its way on the first.
        """
        return kind == FULL and (controller_epoch, broker_epoch) != self._begun

    def note_begun(
        self, kind: int, controller_epoch: ControllerEpoch, broker_epoch: BrokerEpoch
    ) -> None:
        """All of this was taken over, but for the image, which comes next."""
        self.is_whole |= kind != INCREMENTAL
        if kind == FULL:
            self._begun = (controller_epoch, broker_epoch)

    def note_led(self, broker_epoch: BrokerEpoch) -> None:
        """Roles were given to this life. The first such request names all that a broker has.

        Controllers of old do not say which life they mean.
        """
        self.led_in = self.broker_epoch if broker_epoch == NO_BROKER_EPOCH else broker_epoch

    @property
    def has_roles(self) -> bool:
        """Whether what this broker leads was said to this life, or goes back to an earlier one."""
        return self.led_in == self.broker_epoch

    def update(self, image: ClusterImage) -> None:
        """This is how the cluster is from now on."""
        old, self.image = self.image, image
        if old is image:
            return
        for watcher in self.watchers:
            watcher(old, image)
        self._look_again()

    def _look_again(self) -> None:
        self._is_decided.clear()
        self._waiting = [waiting for waiting in self._waiting if not waiting.is_done(self.image)]

    def on_vanished(self, broker: BrokerId) -> None:
        """From now on no client should be told that this broker leads."""
        self.vanished[broker] = None
        self._is_decided.clear()

    def on_vanished_over(self, broker: BrokerId) -> None:
        """It is there after all, or has been waited for long enough."""
        if broker in self.vanished:
            del self.vanished[broker]
            self._look_again()

    def is_decided(self, name: str) -> bool:
        """Whether no partition of this topic is led by a broker that has vanished."""
        known = self._is_decided.get(name)
        if known is None:
            topic = self.image.topics.get(name)
            partitions = () if topic is None else topic.partitions.values()
            known = not any(it.leader in self.vanished for it in partitions)
            self._is_decided[name] = known
        return known

    async def has_decided(self, names: Iterable[str]) -> None:
        """Returns once all of these are `is_decided`, or this broker stops."""
        with suppress(TimeoutError):
            await self._wait(dict.fromkeys(names), lambda _, name: self.is_decided(name))

    async def while_controller(self, asked: BrokerId | None, answer: Awaitable[T]) -> T:
        """The answer, unless another controller is named before it comes."""
        another = _Waiting({"": None}, lambda image, _: image.controller not in {None, asked})
        if not another.is_done(self.image):
            self._waiting.append(another)
        try:
            async with asyncio.timeout(None) as until:
                another.future.add_done_callback(lambda _: _end(until))
                return await answer
        except TimeoutError:
            if not until.expired():
                raise
            another.future.result()  # a TimeoutError where this broker stops
            raise AnotherController(f"broker {self.image.controller} is the controller") from None
        finally:
            if another in self._waiting:
                self._waiting.remove(another)

    async def has_all(self) -> None:
        """Returns once the controller has named this broker, and all topics."""
        await self._wait({"": None}, lambda image, _: self.is_whole and self.me in image.brokers)

    async def has_topics(self, names: Iterable[str]) -> None:
        """Returns once each of these is there, and all its partitions have leaders."""
        await self._wait(dict.fromkeys(names), _is_led)

    async def has_leaders(self, partitions: Iterable[TopicPartition], *, preferred: bool) -> None:
        """Returns once each of these is led, by its preferred leader if that is what was asked."""
        by_topic: dict[str, list[TopicPartition]] = {}
        for partition in partitions:
            by_topic.setdefault(partition.topic, []).append(partition)

        def is_led(image: ClusterImage, name: str) -> bool:
            found = [it for it in map(image.partition, by_topic[name]) if it is not None]
            if preferred:
                return all(it.leader == it.assignment.replicas[0] for it in found)
            return all(it.leader in image.brokers for it in found)

        await self._wait(dict.fromkeys(by_topic), is_led)

    async def has_not_topics(self, names: Iterable[str]) -> None:
        """Returns once none of these is there."""
        await self._wait(dict.fromkeys(names), lambda image, name: name not in image.topics)

    async def has_partitions(self, name: str, count: int) -> None:
        """Returns once a topic has so many, all with leaders."""

        def is_there(image: ClusterImage, name: str) -> bool:
            return _is_led(image, name) and len(image.topics[name].partitions) >= count

        await self._wait({name: None}, is_there)

    async def _wait(
        self, names: dict[str, None], is_so: Callable[[ClusterImage, str], bool]
    ) -> None:
        waiting = _Waiting(names, is_so)
        if waiting.is_done(self.image):
            return
        if self.is_closed:
            raise TimeoutError
        self._waiting.append(waiting)
        try:
            await waiting.future
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)


def _end(until: asyncio.Timeout) -> None:
    with suppress(RuntimeError):  # it is over
        until.reschedule(asyncio.get_running_loop().time())


def _is_led(image: ClusterImage, name: str) -> bool:
    topic = image.topics.get(name)
    return topic is not None and all(it.leader is not None for it in topic.partitions.values())


class _Waiting:
    """Somebody who waits for topics; those that are as he wants are not looked at again."""

    def __init__(self, names: dict[str, None], is_so: Callable[[ClusterImage, str], bool]) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._names = names
        self._is_so = is_so

    def give_up(self) -> None:
        """In vain."""
        if not self.future.done():
            self.future.set_exception(TimeoutError())

    def is_done(self, image: ClusterImage) -> bool:
        """Whether all are as he wants."""
        for name in [name for name in self._names if self._is_so(image, name)]:
            del self._names[name]
        if not self._names and not self.future.done():
            self.future.set_result(None)
        return not self._names
