"""What a simulated network does to those who talk over it."""

import asyncio

import pytest

from odradek.ports import Receiver, Stream
from odradek.sim.doors.wires import WINDOW_BYTES
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

PORT = 9092


class Echo(Receiver):
    """Keeps what it hears; a server's sends it back."""

    def __init__(self, stream: Stream, *, answers: bool = False) -> None:
        self.stream, self.answers = stream, answers
        self.heard = b""
        self.pieces = 0
        self.ends: list[OSError | None] = []
        self._room = bytearray(1 << 16)

    def buffer(self) -> memoryview:
        """Always the same room: it is emptied at once."""
        return memoryview(self._room)

    def received(self, count: int) -> None:
        """Keeps the bytes."""
        self.heard += self._room[:count]
        self.pieces += 1
        if self.answers:
            self.stream.send([bytes(self._room[:count])])

    def drained(self) -> None:
        """Nobody here waits for it."""

    def closed(self, error: OSError | None) -> None:
        """Keeps the reason."""
        self.ends.append(error)


class Talk:
    """A server that echoes and a client with a connection to it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.accepted: list[Echo] = []
        self.server, self.client = world.machine("server"), world.machine("client")
        self.server.start(self._serve)
        self.client.start(_idle)
        world.run(seconds=1)
        self.ear = self.connect()
        world.run(seconds=1)

    async def _serve(self, machine: Machine) -> None:
        def accept(stream: Stream) -> Echo:
            self.accepted.append(Echo(stream, answers=True))
            return self.accepted[-1]

        await machine.network.listen(("", PORT), accept)
        await _idle(machine)

    def connect(self) -> Echo:
        """A connection; its echo comes back here."""
        ears: list[Echo] = []

        def attach(stream: Stream) -> Echo:
            ears.append(Echo(stream))
            return ears[0]

        self.world.ask("client", self.client.network.connect(("server", PORT), attach), seconds=200)
        return ears[0]

    def says(self, text: bytes) -> None:
        """From the client's end."""
        self.ear.stream.send([text])


async def _idle(_: Machine) -> None:
    await asyncio.Event().wait()


def test_a_cut_holds_bytes_back_and_healing_delivers_them() -> None:
    """Nothing is lost and nothing is told: TCP tries again until the way is free."""
    with World(seed=3) as world:
        talk = Talk(world)
        world.wires.cut("client", "server")
        talk.says(b"one ")
        world.run(seconds=30)
        talk.says(b"two")
        world.run(seconds=30)
        assert talk.accepted[0].heard == b""
        world.wires.mend("client", "server")
        world.run(seconds=5)
        assert talk.accepted[0].heard == b"one two"
        assert talk.ear.heard == b"one two"


def test_a_cut_has_a_direction() -> None:
    """The server hears, its answers do not come back."""
    with World(seed=3) as world:
        talk = Talk(world)
        world.wires.cut("server", "client")
        talk.says(b"hello?")
        world.run(seconds=30)
        assert talk.accepted[0].heard == b"hello?"
        assert talk.ear.heard == b""
        world.wires.heal()
        world.run(seconds=5)
        assert talk.ear.heard == b"hello?"


def test_a_killed_process_closes_its_connections() -> None:
    """The peer hears the end at once, and the next connection is refused."""
    with World(seed=3) as world:
        talk = Talk(world)
        talk.server.kill()
        world.run(seconds=1)
        assert talk.ear.ends == [None]
        with pytest.raises(ConnectionRefusedError):
            talk.connect()


def test_a_power_cut_leaves_the_peer_with_half_a_connection() -> None:
    """No end is heard, until the machine is back and answers with a reset."""
    with World(seed=3) as world:
        talk = Talk(world)
        talk.server.cut_power()
        talk.says(b"are you there?")
        world.run(seconds=120)
        assert talk.ear.ends == []
        talk.server.start()
        world.run(seconds=5)
        assert [type(end) for end in talk.ear.ends] == [ConnectionResetError]
        talk.says(b"nobody hears this")


def test_nobody_at_home_is_a_timeout() -> None:
    """A machine that is off does not refuse: whoever connects waits, and fails in the end."""
    with World(seed=3) as world:
        talk = Talk(world)
        talk.server.cut_power()
        began = world.loop.now
        with pytest.raises(TimeoutError):
            talk.connect()
        assert world.loop.now - began == 127_000_000


def test_a_handshake_survives_a_short_cut() -> None:
    """It is tried again, and there is one connection in the end, not two."""
    for source, target in (("client", "server"), ("server", "client")):
        with World(seed=3) as world:
            talk = Talk(world)
            world.wires.cut(source, target)
            world.loop.call_later(5, world.wires.heal)
            talk.connect()
            world.run(seconds=10)
            assert len(talk.accepted) == 2


def test_a_connection_that_was_given_up_is_nobodys() -> None:
    """The server never hears of a client that stopped waiting before the answer came."""
    with World(seed=3) as world:
        talk = Talk(world)
        world.wires.cut("server", "client")
        with pytest.raises(asyncio.CancelledError):
            world.ask("client", talk.client.network.connect(("server", PORT), Echo), seconds=0.5)
        world.wires.heal()
        world.run(seconds=200)
        assert len(talk.accepted) == 1
        assert len(talk.server.host.ends) == len(talk.client.host.ends) == 1


def test_a_broken_connection_is_reset_at_both_ends() -> None:
    """What is on its way is lost."""
    with World(seed=3) as world:
        talk = Talk(world)
        talk.says(b"lost")
        world.wires.break_connections(talk.server.host)
        world.run(seconds=1)
        assert [type(end) for end in talk.ear.ends] == [ConnectionResetError]
        assert [type(end) for end in talk.accepted[0].ends] == [ConnectionResetError]
        assert talk.accepted[0].heard == b""


def test_a_paused_machine_takes_bytes_until_its_window_is_full() -> None:
    """The sender learns only from what does not leave any more."""
    with World(seed=3) as world:
        talk = Talk(world)
        talk.server.pause()
        talk.says(bytes(1 << 20))
        world.run(seconds=10)
        assert talk.ear.stream.unsent == (1 << 20) - WINDOW_BYTES
        assert talk.accepted[0].heard == b""
        talk.server.resume()
        world.run(seconds=10)
        assert talk.ear.stream.unsent == 0
        assert len(talk.accepted[0].heard) == 1 << 20


def test_a_slow_receiver_makes_the_sender_wait() -> None:
    """What does not fit in its window waits with the sender, and comes in its own time."""
    with World(seed=3) as world:
        talk = Talk(world)
        talk.server.host.window_bytes = 16
        talk.says(bytes(1_000))
        assert talk.ear.stream.unsent == 1_000 - 16
        world.run(millis=20)
        assert 0 < len(talk.accepted[0].heard) < 1_000
        world.run(seconds=1)
        assert len(talk.accepted[0].heard) == 1_000


def test_a_slow_link_takes_its_time() -> None:
    """What takes two seconds and a half to send is not there before, and is there after."""
    with World(seed=3) as world:
        talk = Talk(world)
        link = world.wires.link(talk.client.host, talk.server.host)
        link.delay, link.bytes_per_second = (500_000, 600_000), 100_000
        talk.says(bytes(200_000))
        world.run(seconds=2)
        assert len(talk.accepted[0].heard) < 200_000
        world.run(seconds=2)
        assert len(talk.accepted[0].heard) == 200_000


def test_a_message_may_arrive_in_parts() -> None:
    """Over some seeds what was sent at once is heard in two pieces."""

    def pieces(seed: int) -> int:
        with World(seed=seed) as world:
            talk = Talk(world)
            talk.says(bytes(100))
            world.run(seconds=1)
            return talk.accepted[0].pieces

    assert {pieces(seed) for seed in range(40)} == {1, 2}


def test_unknown_names_do_not_resolve() -> None:
    """Whoever names a host that does not exist gets an OSError, as from a real resolver."""
    with World(seed=3) as world:
        talk = Talk(world)
        with pytest.raises(OSError, match="not known"):
            world.ask("client", talk.client.network.connect(("nowhere", PORT), Echo))
