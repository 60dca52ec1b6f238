"""The server and bytes that nobody should send: whole requests with a few bytes changed."""

from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import INT, OPEN_ACL, framed
from odradek.zookeeper.protocol.jute_replies import Done
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    Check,
    Connect,
    Create,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    Exists,
    GetAcl,
    GetChildren2,
    GetData,
    GetEphemerals,
    Multi,
    MultiRead,
    Ping,
    RemoveWatches,
    Request,
    SetAcl,
    SetData,
    SetWatches2,
    framed_request,
)
from tests.samples.zookeeper import World

REQUESTS: Final[tuple[Request, ...]] = (
    Create("/a", b"1", OPEN_ACL, CreateMode.PERSISTENT_SEQUENTIAL),
    Create2("/a/b", None, OPEN_ACL, CreateMode.EPHEMERAL),
    CreateContainer("/c", b"", OPEN_ACL),
    CreateTtl("/t", b"", OPEN_ACL, CreateMode.PERSISTENT_WITH_TTL, 10_000),
    SetData("/a", b"2", -1),
    Delete("/a/b", -1),
    Exists("/a", watch=True),
    GetData("/a", watch=True),
    GetChildren2("/a", watch=True),
    GetAcl("/a"),
    SetAcl("/a", OPEN_ACL, -1),
    GetEphemerals("/"),
    AddWatch("/", 1),
    RemoveWatches("/a", 3),
    SetWatches2(0, ["/a"], ["/b"], ["/a"], ["/p"], ["/r"]),
    Auth("digest", b"anna:secret"),
    Multi((Check("/a", -1), SetData("/a", b"3", -1), Create("/m", b"", OPEN_ACL))),
    MultiRead((GetData("/a"), GetData("/none"))),
    Create("/zookeeper/quota/a/zookeeper_limits", b"count=1,bytes=-1", OPEN_ACL),
)
FRAMES: Final = tuple(framed_request(number, each) for number, each in enumerate(REQUESTS))
NUMBERS: Final = tuple(map(INT.pack, (-1, 0, 1, 255, 1 << 20, (1 << 31) - 1, -(1 << 31))))


@st.composite
def packets(draw: st.DrawFn) -> bytes:
    """A request, and somewhere in it a number or a byte that was not meant; or cut, or longer."""
    body = bytearray(draw(st.sampled_from(FRAMES))[4:])
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(body) - 1))
        wrong = draw(st.sampled_from(NUMBERS) | st.binary(min_size=1, max_size=8))
        body[at : at + len(wrong)] = wrong
    keep = draw(st.integers(len(body) - 8, len(body) + 8))
    return framed(bytes(body[:keep]).ljust(keep, b"\0"))


@settings(max_examples=300)
@given(st.lists(packets() | st.sampled_from(FRAMES) | st.binary(max_size=40), max_size=12))
def test_no_bytes_disturb_the_others(said: list[bytes]) -> None:
    """No error escapes, a neighbour is served, and a restart has what the journal was told."""
    world = World()
    neighbour, hostile = world.client(), None
    neighbour.ask(Create("/a", b"0", OPEN_ACL))
    for data in said:
        if hostile is None or hostile.hung_up is not None:
            hostile = world.client(greets=False)  # so that its answers are not looked into
            hostile.say(framed(Connect(0, 10_000).body()))
        hostile.say(data)
        assert neighbour.ask(Ping()) == Done()
    world.wait(60_000)
    again = world.restart().server.database.state()
    assert again == world.server.database.state()
