"""The controller's channels: in order, again and again, and what the end of a connection means."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.model.units import SECOND, Millis
from odradek.peers.broker_channel import (
    BrokerLife,
    ChannelEvent,
    ChannelSettings,
    ControlAnswer,
    ProcessIsGone,
)
from odradek.peers.control_message import ControlRequest
from odradek.peers.controller_channels import ControllerChannels
from odradek.sim.stage.world import World
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from odradek.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from odradek.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from odradek.wire.schema import Request, Response
from tests.unit.peers.control_requests import SENDER, lead, metadata, said, stop
from tests.unit.peers.kafka_process import KafkaProcess

ME, OTHER, THIRD = BrokerId(1), BrokerId(2), BrokerId(3)
ANSWERS: dict[type[Request], type[Response]] = {
    LeaderAndIsrRequest: LeaderAndIsrResponse,
    UpdateMetadataRequest: UpdateMetadataResponse,
    StopReplicaRequest: StopReplicaResponse,
}


def _answer(kind: type[Response], request: Request) -> Response:
    return kind()


class Stage:
    """A controller's machine and two brokers beside it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.processes = {OTHER: KafkaProcess(world, "b2"), THIRD: KafkaProcess(world, "b3")}
        for process in self.processes.values():
            for kind, answer in ANSWERS.items():
                process.answers[kind] = partial(_answer, answer)
        self.events: list[tuple[Millis, ChannelEvent]] = []
        self.delivered: list[ControlRequest] = []
        self.may_deliver = asyncio.Event()
        self.may_deliver.set()
        self.machine = world.machine("b1")
        self.machine.start(self._live)
        self.run(10)

    async def _live(self, machine: Any) -> None:
        clock = machine.clock
        self.channels = ControllerChannels(
            (machine.network, clock),
            SENDER,
            self._deliver,
            lambda event: self.events.append((clock.monotonic(), event)),
            settings=ChannelSettings("b1-controller", Millis(5 * SECOND)),
        )
        await self.channels.run()
        await asyncio.get_running_loop().create_future()

    async def _deliver(self, request: ControlRequest) -> Response:
        await self.may_deliver.wait()
        self.delivered.append(request)
        return _answer(ANSWERS[type(request)], request)

    def run(self, millis: int) -> None:
        """Time passes."""
        self.world.run(millis=millis)

    def register(self, **epochs: int) -> None:
        """These lives are registered: `b2=5` is broker 2 in epoch 5."""
        ids = {name: BrokerId(int(name[1:])) for name in epochs}
        live = {
            BrokerLife(ids[name], BrokerEpoch(epoch)): (name, 9092)
            for name, epoch in epochs.items()
        }
        self.channels.set_brokers(live)

    def send(self, request: ControlRequest, *brokers: BrokerId) -> None:
        """From the controller's loop."""
        self.channels.send(brokers, request)

    def heard(self, broker: BrokerId) -> list[tuple[str, list[tuple[int, int, bool]]]]:
        """By a process, in order."""
        return [said(it) for it in self.processes[broker].heard]  # type: ignore[arg-type]

    @property
    def answered(self) -> list[tuple[BrokerId, int, str]]:
        """Who answered, in which life, to what."""
        return [
            (event.broker.id, event.broker.epoch, said(event.request)[0])
            for _, event in self.events
            if isinstance(event, ControlAnswer)
        ]

    @property
    def gone(self) -> list[tuple[Millis, BrokerLife]]:
        """Of which processes it was said."""
        return [
            (when, event.broker) for when, event in self.events if isinstance(event, ProcessIsGone)
        ]


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A world with all three."""
    with World(3) as world:
        yield Stage(world)


def test_everybody_is_told_in_order_and_answers_with_its_life(stage: Stage) -> None:
    """At fixed versions, without asking what the broker speaks; ourselves included."""
    stage.register(b1=4, b2=5, b3=6)
    stage.send(metadata(0), ME, OTHER, THIRD)
    stage.run(100)
    stage.send(lead(0), ME, OTHER)
    stage.send(stop(1), OTHER)
    stage.run(100)
    assert [kind for kind, _ in stage.heard(OTHER)] == ["metadata", "lead", "stop"]
    assert stage.processes[OTHER].versions == [(6, 8), (4, 7), (5, 4)]
    assert [kind for kind, _ in stage.heard(THIRD)] == ["metadata"]
    assert [it.broker_epoch for it in stage.delivered] == [4, 4]
    assert [it.broker_epoch for it in stage.processes[THIRD].heard] == [6]  # type: ignore[attr-defined]
    assert sorted(stage.answered) == [
        (ME, 4, "lead"),
        (ME, 4, "metadata"),
        (OTHER, 5, "lead"),
        (OTHER, 5, "metadata"),
        (OTHER, 5, "stop"),
        (THIRD, 6, "metadata"),
    ]


def test_one_request_is_on_its_way_and_what_waits_is_merged(stage: Stage) -> None:
    """A broker that answers slowly hears the newest state, and holds up nobody else."""
    stage.register(b2=5, b3=6)
    stage.processes[OTHER].mute = True
    stage.send(metadata(0), OTHER, THIRD)
    stage.run(50)
    for epoch in range(5):
        stage.send(lead(0, epoch=epoch), OTHER, THIRD)
        stage.run(50)
    assert len(stage.heard(OTHER)) == 1
    assert stage.channels.backlog() == {OTHER: 1, THIRD: 0}
    assert [rows[0][1] for kind, rows in stage.heard(THIRD) if kind == "lead"] == [*range(5)]
    stage.processes[OTHER].speak()
    stage.run(50)
    assert stage.heard(OTHER)[1:] == [("lead", [(0, 4, False)])]


def test_a_request_is_sent_again_until_it_is_answered(stage: Stage) -> None:
    """Over as many connections as that takes; nothing overtakes it."""
    stage.register(b2=5)
    process = stage.processes[OTHER]
    process.mute = True
    stage.send(lead(0), OTHER)
    stage.send(stop(0), OTHER)
    for _ in range(3):
        stage.run(500)
        process.links[0].stream.abort()
    process.held.clear()
    process.mute = False
    stage.run(1_000)
    assert {kind for kind, _ in stage.heard(OTHER)[:-1]} == {"lead"}
    assert stage.heard(OTHER)[-1][0] == "stop"
    assert stage.gone == []


def test_a_dead_process_is_told_of_at_once_and_once(stage: Stage) -> None:
    """Its kernel closes the connection, and refuses the next; nothing needs to be under way."""
    stage.register(b2=5, b3=6)
    stage.run(2_000)
    died = stage.machine.clock.monotonic()
    stage.processes[OTHER].machine.kill()
    stage.run(5_000)
    ((when, life),) = stage.gone
    assert life == (OTHER, 5)
    assert when - died < 50


def test_a_process_that_was_killed_in_its_first_second_is_missed_too(stage: Stage) -> None:
    """Also if the controller had only just connected."""
    stage.register(b2=5)
    stage.run(20)
    stage.processes[OTHER].machine.kill()
    stage.run(500)
    assert [life for _, life in stage.gone] == [(OTHER, 5)]


def test_a_silent_machine_is_not_called_dead(stage: Stage) -> None:
    """Power lost: requests time out, connections time out, and neither proves anything."""
    stage.register(b2=5)
    stage.run(100)
    stage.processes[OTHER].machine.cut_power()
    stage.send(lead(0), OTHER)
    stage.run(60_000)
    assert stage.gone == []
    assert stage.channels.backlog() == {OTHER: 0}  # it is on its way


def test_a_broker_that_does_not_listen_yet_is_not_called_dead(stage: Stage) -> None:
    """It registers before it listens: the controller tries until the port answers."""
    process = stage.processes[OTHER]
    process.machine.kill()
    stage.register(b2=5)
    stage.send(lead(0), OTHER)
    stage.run(3_000)
    assert stage.gone == []
    process.start()
    stage.run(500)
    assert stage.heard(OTHER) == [("lead", [(0, 0, False)])]


def test_a_broker_that_hangs_up_and_still_listens_is_not_called_dead(stage: Stage) -> None:
    """It closed an idle connection, or was asked to: the next one is taken."""
    stage.register(b2=5)
    for _ in range(4):
        stage.run(1_500)
        stage.processes[OTHER].links[0].stream.close()
    stage.run(1_500)
    assert stage.gone == []
    assert len(stage.processes[OTHER].links) == 1
    died = stage.machine.clock.monotonic()
    stage.processes[OTHER].machine.kill()
    stage.run(1_000)
    ((when, _),) = stage.gone
    assert when - died < 20  # pauses do not add up over connections that lasted


def test_a_new_life_gets_a_new_channel(stage: Stage) -> None:
    """What waited for the old one is not for it, and the old one is heard of no more."""
    stage.register(b2=5)
    process = stage.processes[OTHER]
    process.mute = True
    stage.send(lead(0), OTHER)
    stage.send(stop(7), OTHER)
    stage.run(100)
    stage.register(b2=9)
    process.speak()
    process.heard.clear()
    stage.send(metadata(0), OTHER)
    stage.run(1_000)
    assert [kind for kind, _ in stage.heard(OTHER)] == ["metadata"]
    assert stage.answered == [(OTHER, 9, "metadata")]
    assert len(process.links) == 1


def test_a_broker_that_is_not_registered_is_not_told(stage: Stage) -> None:
    """When it comes it is told everything anyway."""
    stage.register(b2=5)
    stage.register()
    stage.send(lead(0), OTHER)
    stage.run(1_000)
    assert stage.processes[OTHER].heard == []
    assert stage.processes[OTHER].links == []


def test_a_slow_disk_of_our_own_holds_up_nobody(stage: Stage) -> None:
    """The controller's broker is one among others."""
    stage.register(b1=4, b2=5)
    stage.may_deliver.clear()
    stage.send(lead(0), ME, OTHER)
    stage.run(100)
    stage.send(lead(1), ME, OTHER)
    stage.run(100)
    assert len(stage.heard(OTHER)) == 2
    assert stage.delivered == []
    stage.may_deliver.set()
    stage.run(100)
    assert [said(it) for it in stage.delivered] == stage.heard(OTHER)


def test_after_the_controller_epoch_nothing_is_sent_or_told(stage: Stage) -> None:
    """An answer that is on its way comes too late."""
    stage.register(b1=4, b2=5)
    stage.processes[OTHER].mute = True
    stage.send(lead(0), OTHER)
    stage.run(100)
    stage.channels.close()
    stage.processes[OTHER].speak()
    stage.send(lead(1), ME, OTHER)
    stage.run(1_000)
    assert stage.answered == []
    assert stage.delivered == []
    assert stage.processes[OTHER].links == []
