"""Packets survive the way out and back, and nothing that was cut or lies gets through."""

from itertools import pairwise

import pytest

from odradek.zookeeper.protocol import jute_replies as replies
from odradek.zookeeper.protocol import jute_requests as requests
from odradek.zookeeper.protocol.codes import MalformedPacket, OpCode
from odradek.zookeeper.protocol.jute import INT, OPEN_ACL, Acl, Identity, Packets, Stat
from odradek.zookeeper.protocol.jute_request_reader import request_body, request_header

STAT = Stat(1, 2, 3, 4, 5, 6, 7, -(1 << 63), 9, 10, 11)
DIGEST = (Acl(31, Identity("digest", "anna:x=")), *OPEN_ACL)
WRITES: tuple[requests.WriteOp, ...] = (
    requests.Create("/ä", b"1", DIGEST, 3),
    requests.Create2("/b", None),
    requests.CreateContainer("/c", b""),
    requests.CreateTtl("/d", b"4", OPEN_ACL, 5, 60_000),
    requests.Delete("/e", 7),
    requests.SetData("/f", b"x" * 150, 3),
    requests.Check("/g", 0),
)
REQUESTS: tuple[requests.Request, ...] = (
    *WRITES,
    requests.Ping(),
    requests.CloseSession(),
    requests.WhoAmI(),
    requests.GetData("/a", watch=True),
    requests.Exists("/a"),
    requests.GetChildren("/a"),
    requests.GetChildren2("/a", watch=True),
    requests.GetAcl("/a"),
    requests.SetAcl("/a", DIGEST, 2),
    requests.Sync("/"),
    requests.GetEphemerals("/a"),
    requests.GetAllChildrenNumber("/a"),
    requests.SetWatches(5, ["/a"], [], ["/b", "/c"]),
    requests.SetWatches2(5, ["/a"], [], ["/b", "/c"], ["/d"], ["/e"]),
    requests.AddWatch("/a", 1),
    requests.RemoveWatches("/a", 3),
    requests.CheckWatches("/a", 5),
    requests.Auth("digest", b"anna:secret"),
    requests.Sasl(b"token"),
    requests.Sasl(None),
    requests.Multi(WRITES),
    requests.MultiRead((requests.GetData("/a"), requests.GetChildren("/b"))),
)
REPLIES: tuple[tuple[OpCode, replies.Reply], ...] = (
    (OpCode.PING, replies.Done()),
    (OpCode.EXISTS, replies.StatReply(STAT)),
    (OpCode.SET_DATA, replies.StatReply(STAT)),
    (OpCode.GET_DATA, replies.Data(None, STAT)),
    (OpCode.GET_CHILDREN, replies.Children(["a", "b"])),
    (OpCode.GET_CHILDREN2, replies.Children2(["a"], STAT)),
    (OpCode.CREATE, replies.Created("/a")),
    (OpCode.CREATE_TTL, replies.Created2("/a", STAT)),
    (OpCode.GET_ACL, replies.AclReply(DIGEST, STAT)),
    (OpCode.GET_ALL_CHILDREN_NUMBER, replies.Number(4)),
    (OpCode.SASL, replies.SaslReply(b"token")),
    (OpCode.SASL, replies.SaslReply(None)),
    (OpCode.WHO_AM_I, replies.Identities([Identity("ip", "127.0.0.1")])),
    (
        OpCode.MULTI,
        replies.Results(
            [
                replies.Created("/a"),
                replies.Created2("/b", STAT),
                replies.Deleted(),
                replies.StatReply(STAT),
                replies.Checked(),
                replies.Data(b"1", STAT),
                replies.Children(["c"]),
                replies.Failed(-101),
            ]
        ),
    ),
)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda value: type(value).__name__)
def test_a_request_comes_back_as_it_went_out(request_: requests.Request) -> None:
    """What a server reads is what the client meant, under the number that it was given."""
    (packet,) = Packets().feed(requests.framed_request(77, request_))
    xid, op = request_header(packet)
    again = request_body(op, packet)
    assert (xid, type(again), again) == (77, type(request_), request_)


@pytest.mark.parametrize(("op", "reply"), REPLIES, ids=lambda value: type(value).__name__)
def test_a_reply_comes_back_as_it_went_out(op: OpCode, reply: replies.Reply) -> None:
    """What a client reads is what the server answered."""
    header = replies.ReplyHeader(77, 1 << 40, 0)
    (packet,) = Packets().feed(replies.framed_reply(header, reply.body()))
    again = replies.reply_body(op, packet)
    assert (replies.reply_header(packet), type(again), again) == (header, type(reply), reply)


@pytest.mark.parametrize("flag", [None, False, True])
def test_the_read_only_flag_may_be_missing(flag: bool | None) -> None:  # noqa: FBT001 - a field of the wire
    """Clients before 3.4 end their connect request without it, and their answer must end so too."""
    connect = requests.Connect(5, 6000, 7, b"p" * 16, flag)
    connected = replies.Connected(6000, 7, b"p" * 16, flag)
    assert requests.Connect.decode(connect.body()) == connect
    assert replies.Connected.decode(connected.body()) == connected


def test_an_event_comes_back_as_it_went_out() -> None:
    """A watch's event travels under the xid -1 and names what happened, and where."""
    (packet,) = Packets().feed(replies.framed_event(9, replies.Event(3, "/a")))
    assert replies.reply_header(packet) == (-1, 9, 0)
    assert replies.event_body(packet) == replies.Event(3, "/a")


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda value: type(value).__name__)
def test_a_request_cut_anywhere_is_refused(request_: requests.Request) -> None:
    """A body that ends too early is a typed error, never a value and never another exception."""
    (packet,) = Packets().feed(requests.framed_request(77, request_))
    for end in range(8, len(packet)):
        with pytest.raises(MalformedPacket):
            request_body(request_header(packet)[1], packet[:end])


@pytest.mark.parametrize(("op", "reply"), REPLIES, ids=lambda value: type(value).__name__)
def test_a_reply_cut_anywhere_is_refused(op: OpCode, reply: replies.Reply) -> None:
    """The client believes a server no more than the server believes it."""
    (packet,) = Packets().feed(replies.framed_reply(replies.ReplyHeader(1, 2, 0), reply.body()))
    for end in range(16, len(packet)):
        with pytest.raises(MalformedPacket):
            replies.reply_body(op, packet[:end])


@pytest.mark.parametrize("count", [-2, 2, 1 << 30, -(1 << 31)])
def test_a_lying_count_or_length_is_refused(count: int) -> None:
    """A count is held against the bytes that are there before anything is made of it."""
    for op, body in (
        (OpCode.GET_DATA, INT.pack(count) + b"/\0"),
        (OpCode.SET_DATA, INT.pack(1) + b"/" + INT.pack(count) + b"\0"),
        (OpCode.SET_WATCHES, bytes(8) + INT.pack(count)),
        (OpCode.SET_ACL, INT.pack(1) + b"/" + INT.pack(count)),
    ):
        with pytest.raises(MalformedPacket):
            request_body(op, bytes(8) + body)


def test_a_string_that_is_not_utf8_is_refused() -> None:
    """Bytes that are no text are no path."""
    with pytest.raises(MalformedPacket, match="UTF-8"):
        request_body(OpCode.SYNC, bytes(8) + INT.pack(2) + b"\xc3\x28")


def test_a_multi_takes_only_its_own_kinds() -> None:
    """A read within a multi, a write within a multiRead or a multi within a multi is refused."""
    read = requests.MultiRead((requests.GetData("/a"),)).body()
    write = requests.Multi(WRITES).body()
    for op, body in ((OpCode.MULTI, read), (OpCode.MULTI_READ, write)):
        with pytest.raises(MalformedPacket):
            request_body(op, bytes(8) + body)


def test_an_unknown_operation_is_a_value() -> None:
    """The server answers it by its xid, so it must not be an error to read."""
    assert request_body(999, bytes(8)) == requests.Unknown(999)


def test_packets_are_the_same_however_the_stream_was_cut() -> None:
    """A packet may come in many pieces, and a piece may hold many packets."""
    sent = [requests.framed_request(xid, request) for xid, request in enumerate(REQUESTS)]
    stream = b"".join(sent)
    for size in (1, 3, 4, 5, 64, 1000, len(stream)):
        packets = Packets()
        cuts = [*range(0, len(stream), size), len(stream)]
        got = [
            packet for start, end in pairwise(cuts) for packet in packets.feed(stream[start:end])
        ]
        assert got == [packet[4:] for packet in sent]
        assert packets.fault is None


@pytest.mark.parametrize("length", [-1, 101, 1 << 30])
def test_a_length_out_of_bounds_ends_the_stream(length: int) -> None:
    """What came before it is still handed out; nothing can be made of what comes after."""
    packets = Packets(limit=100)
    assert packets.feed(INT.pack(1) + b"x" + INT.pack(length) + b"y") == [b"x"]
    assert packets.fault is not None
    split = Packets(limit=100)
    raw = INT.pack(length)
    assert split.feed(raw[:2]) == []
    assert split.feed(raw[2:]) == []
    assert split.fault is not None
