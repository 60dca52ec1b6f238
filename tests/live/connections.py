"""Breaks and silences the connections of other processes, as a network that fails does."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

PIDFD_GETFD: Final = 438  # a system call: a copy of another process's file descriptor
SO_ATTACH_FILTER: Final = 26
SO_DETACH_FILTER: Final = 27
DROP: Final = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0))  # BPF: return 0
DROP_ALL: Final = struct.pack("@HP", 1, ctypes.addressof(DROP))
LOOK_SECONDS: Final = 0.01
TABLE: Final = Path("/proc/net/tcp")  # of this network: numbers of sockets, and both their ports


def cut_connections(pid: int) -> None:
    """All of them; both ends see the end, and nothing says why. Sockets that listen stay."""
    for number in _sockets(pid).values():
        with _copy(pid, number) as connection, suppress(OSError):
            if connection and connection.family is socket.AF_INET and connection.getpeername():
                connection.shutdown(socket.SHUT_RDWR)


class Silence:
    """What one process sends to the other is lost on its way; neither end sees an end.

    A new connection is silenced a hundredth of a second after it was made.
    """

    def __init__(self, *ways: tuple[int, int]) -> None:
        """Each from the process that sends to the one that does not hear it."""
        self._ways = ways
        self._silenced: dict[tuple[int, int], int] = {}  # by process and socket: its descriptor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="silence")
        self._look()
        self._thread.start()

    def end(self) -> None:
        """What is sent again arrives."""
        self._over.set()
        self._thread.join()
        for (pid, _), number in self._silenced.items():
            _set(pid, number, SO_DETACH_FILTER, struct.pack("i", 0))

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        table = list(_connections())
        for sender, receiver in self._ways:
            theirs, ours = _sockets(sender), _sockets(receiver)
            ports = {it.port for it in table if it.inode in theirs}
            for it in table:
                if it.inode in ours and it.peer in ports:
                    self._silence(receiver, it.inode, ours[it.inode])

    def _silence(self, pid: int, inode: int, number: int) -> None:
        if (pid, inode) not in self._silenced and _set(pid, number, SO_ATTACH_FILTER, DROP_ALL):
            self._silenced[pid, inode] = number


class _Connection(NamedTuple):
    port: int
    peer: int
    inode: int


def _connections() -> Iterator[_Connection]:
    for line in TABLE.read_text().splitlines()[1:]:
        _, local, remote, *_ = words = line.split()
        yield _Connection(_port(local), _port(remote), int(words[9]))


def _port(address: str) -> int:
    return int(address.split(":")[1], 16)


def _sockets(pid: int) -> dict[int, int]:
    """The descriptors of its sockets, each by its number in the table; none if it has ended."""
    found = {}
    with suppress(FileNotFoundError, ProcessLookupError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed since it was listed
                kind, _, inode = str(link.readlink()).rstrip("]").partition(":[")
                if kind == "socket":
                    found[int(inode)] = int(link.name)
    return found


@contextmanager
def _copy(pid: int, number: int) -> Iterator[socket.socket | None]:
    """Of this descriptor; None if it was closed meanwhile, though a file may have its number."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        copy = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, number, 0)
        if copy < 0 and ctypes.get_errno() not in {errno.EBADF, errno.ESRCH}:
            raise OSError(ctypes.get_errno(), f"no access to the sockets of process {pid}")
    finally:
        os.close(process)
    if copy < 0:
        yield None
        return
    if not stat.S_ISSOCK(os.fstat(copy).st_mode):
        os.close(copy)
        yield None
        return
    with socket.socket(fileno=copy) as connection:
        yield connection


def _set(pid: int, number: int, option: int, value: bytes) -> bool:
    """Whether the socket was still there."""
    with _copy(pid, number) as connection, suppress(OSError):
        if connection:
            connection.setsockopt(socket.SOL_SOCKET, option, value)
            return True
    return False
