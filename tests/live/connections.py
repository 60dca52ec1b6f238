"""Breaks the connections of another process, as a network that fails does."""

import ctypes
import errno
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

PIDFD_GETFD: Final = 438  # a system call: a copy of another process's file descriptor


def cut_connections(pid: int) -> None:
    """All of them; both ends see the end, and nothing says why. Sockets that listen stay."""
    process = os.pidfd_open(pid)
    try:
        for number in _sockets(pid):
            copy = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, number, 0)
            if copy < 0 and ctypes.get_errno() == errno.EBADF:
                continue  # closed since it was listed
            if copy < 0:
                raise OSError(ctypes.get_errno(), f"no access to the sockets of process {pid}")
            with socket.socket(fileno=copy) as connection, suppress(OSError):
                if connection.family is socket.AF_INET and connection.getpeername():
                    connection.shutdown(socket.SHUT_RDWR)
    finally:
        os.close(process)


def _sockets(pid: int) -> list[int]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            if str(link.readlink()).startswith("socket:"):
                found.append(int(link.name))
    return found
