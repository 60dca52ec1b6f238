"""The Network door on the kernel's TCP: listening, connecting, and the streams that are open.

Every stream stands in a table until its descriptor is closed: a socket that the garbage collector
closes behind the loop's back makes every later connection of that number fail on uvloop. Streams
that were quiet for a while are read once more, for uvloop may have lost their reader (`stream`).
"""

import asyncio
import errno
import ipaddress
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.ports import Address, Listener, Receiver, Stream
from odradek.runtime.doors.descriptors import closed_early, files_max, is_reserved
from odradek.runtime.doors.stream import SystemStream, plain_address

ACCEPTS_PER_TURN_MAX: Final = 8  # then those who are connected have their turn: 0.1 ms for each
ENDS_PER_TURN_MAX: Final = 16
"""Of connections whose peers are gone: a crowd that goes at once would hold up all others."""
SWEEP_SECONDS: Final = 5.0
SWEPT_PER_TURN_MAX: Final = 256  # a microsecond each
NOT_TRIED: Final = frozenset({errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.EAFNOSUPPORT})
"""This machine has no way to addresses of that family: nothing was asked of the other one."""
ACCEPT_AGAIN_SECONDS: Final = 1.0  # out of descriptors as a rule: others must close first
TOLD_AGAIN_SECONDS: Final = 60.0

log = structlog.get_logger()


class Buffers(NamedTuple):
    """Of the kernel, for each connection that is taken, and for those that wait to be."""

    send: int | None = None  # bytes; None: as the kernel finds right
    receive: int | None = None
    backlog: int = 1_024

    def apply(self, sock: socket.socket) -> None:
        """To a listening socket: what it accepts inherits them."""
        for option, size in ((socket.SO_SNDBUF, self.send), (socket.SO_RCVBUF, self.receive)):
            if size is not None:
                sock.setsockopt(socket.SOL_SOCKET, option, size)


class SystemNetwork:
    """Streams of this process, all on one loop."""

    def __init__(self, buffers: Buffers = Buffers()) -> None:  # noqa: B008 - it cannot be changed
        self._buffers = buffers
        self.streams: dict[int, SystemStream] = {}  # by descriptor
        self._sweeping = False
        self._left: deque[tuple[SystemStream, OSError | None]] = deque()  # whose peers are gone

    async def listen(
        self, address: Address, accept: Callable[[Stream], Receiver], *, uses_reserve: bool = False
    ) -> Listener:
        """An empty host means every interface, by IPv6 and IPv4 where the machine has both."""
        loop = asyncio.get_running_loop()
        sock = _every_interface(address[1]) if not address[0] else None
        if sock is None:
            family, name = (await _resolve(address))[0]
            sock = _bound(family, name)
        self._buffers.apply(sock)
        sock.listen(self._buffers.backlog)
        opened = partial(self._open, attach=accept)
        return SystemListener(loop, sock, opened, uses_reserve=uses_reserve)

    async def connect(self, address: Address, attach: Callable[[Stream], Receiver]) -> Stream:
        """Tries every address that the host's name stands for; the first telling error counts.

        A refusal tells that no process listens, but only if no other address of the host stayed
        silent: then a process may listen there.
        """
        failures: list[OSError] = []
        for family, name in await _resolve(address):
            try:
                sock = await _connected(family, name)
            except OSError as error:
                failures.append(error)
            else:
                return self._open(closed_early(sock), plain_address(name), attach)
        assert failures, "a name that resolves has an address"
        raise min(failures, key=_says)

    def _open(
        self, sock: socket.socket, peer: Address, attach: Callable[[Stream], Receiver]
    ) -> Stream:
        loop = asyncio.get_running_loop()
        try:
            stream = SystemStream(loop, sock, peer=peer, forget=self._forget, leave=self._leave)
        except BaseException:
            sock.close()
            raise
        self.streams[stream.fd] = stream
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(SWEEP_SECONDS, self._sweep, [])
        try:
            stream.attach(attach(stream))
        except BaseException:
            stream.abort()
            raise
        return stream

    def _forget(self, stream: SystemStream) -> None:
        del self.streams[stream.fd]

    def _leave(self, stream: SystemStream, error: OSError | None) -> None:
        self._left.append((stream, error))
        if len(self._left) == 1:
            asyncio.get_running_loop().call_soon(self._end_some)

    def _end_some(self) -> None:
        for _ in range(min(len(self._left), ENDS_PER_TURN_MAX)):
            stream, error = self._left.popleft()
            stream.end(error)
        if self._left:
            asyncio.get_running_loop().call_soon(self._end_some)

    def _sweep(self, waiting: list[SystemStream]) -> None:
        """Reads from those that were quiet since the last time, a bounded number at once."""
        waiting = waiting or list(self.streams.values())
        for stream in waiting[:SWEPT_PER_TURN_MAX]:
            if stream.quiet:
                stream.read()
            stream.quiet = True
        rest = waiting[SWEPT_PER_TURN_MAX:]
        self._sweeping = bool(self.streams)
        if self._sweeping:
            seconds = 0.0 if rest else SWEEP_SECONDS
            asyncio.get_running_loop().call_later(seconds, self._sweep, rest)


class SystemListener:
    """A listening socket and its reader."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        opened: Callable[[socket.socket, Address], Stream],
        *,
        uses_reserve: bool,
    ) -> None:
        self._uses_reserve = uses_reserve
        self._loop, self._sock, self._opened = loop, sock, opened
        self._fd = sock.fileno()
        self.address = plain_address(sock.getsockname())
        self._is_paused = False
        self._told_at: float | None = None
        self._watch()

    def _watch(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._fd)
            if not self._is_paused:
                self._loop.add_reader(self._fd, self._accept)

    def pause(self) -> None:
        """They wait in the kernel, as many as its backlog has room for."""
        self._is_paused = True
        self._watch()

    def resume(self) -> None:
        """Reads what waits in the kernel."""
        self._is_paused = False
        self._watch()

    def _accept(self) -> None:
        for _ in range(ACCEPTS_PER_TURN_MAX):
            if self._is_paused:
                return
            try:
                sock, name = self._sock.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError as error:
                self._rest(str(error))
                return
            if not self._uses_reserve and is_reserved(sock.fileno()):
                sock.close()
                self._rest("the last files are kept from clients")
                return
            sock.settimeout(0.0)
            with suppress(OSError):  # gone before we looked at it
                self._opened(sock, plain_address(name))

    def _rest(self, reason: str) -> None:
        """Others must close first. To clients a broker that hangs looks the same: it is told."""
        now = self._loop.time()
        if self._told_at is None or now - self._told_at >= TOLD_AGAIN_SECONDS:
            self._told_at = now
            log.warning(
                "connections.wait", address=self.address, files_max=files_max(), reason=reason
            )
        self._loop.remove_reader(self._fd)
        self._loop.call_later(ACCEPT_AGAIN_SECONDS, self._watch)

    def close(self) -> None:
        """A second call does nothing."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._fd)
            self._sock.close()


async def _resolve(address: Address) -> list[tuple[socket.AddressFamily, Address]]:
    """Every address of a name, IPv4 first; a literal one costs no thread."""
    host, port = address
    with suppress(ValueError):
        version = ipaddress.ip_address(host).version
        return [(socket.AF_INET if version == 4 else socket.AF_INET6, address)]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(errno.EINVAL, "no host can have this name", host) from None
    except socket.gaierror as error:
        raise OSError(error.errno, error.strerror, host) from None
    families = [(info[0], (str(info[4][0]), int(info[4][1]))) for info in found]
    return sorted(families, key=lambda family_and_name: family_and_name[0] != socket.AF_INET)


def _says(error: OSError) -> int:
    """What counts most: silence, then any other error, then an address that we cannot even try."""
    if isinstance(error, TimeoutError) or error.errno == errno.EHOSTUNREACH:
        return 0
    return 2 if error.errno in NOT_TRIED else 1


async def _connected(family: socket.AddressFamily, name: Address) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0.0)
        await asyncio.get_running_loop().sock_connect(sock, name)
    except BaseException:
        sock.close()
        raise
    return sock


def _bound(family: socket.AddressFamily, name: Address) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0.0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(name[0] != "::"))
        sock.bind(name)
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, f"{name[0]}:{name[1]}") from None
    return sock


def _every_interface(port: int) -> socket.socket:
    """One socket for both families; a machine without IPv6 gets one for IPv4."""
    if socket.has_ipv6:
        with suppress(OSError):
            return _bound(socket.AF_INET6, ("::", port))
    return _bound(socket.AF_INET, ("0.0.0.0", port))  # noqa: S104 - asked for by the empty host
