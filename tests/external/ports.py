"""Ports for servers of tests, which keep them from one life to the next.

They lie below those that the system gives to outgoing connections (from 32768 on, or 49152): such a
connection, of another test, may else take one between the choice and the start, or while its server
is down. No port is given out twice by one process, and pytest's workers have shares of their own.
"""

import os
import random
import re
import socket
from collections.abc import Iterator
from typing import Final

HOST: Final = "127.0.0.1"
PORTS: Final = range(12_000, 32_000)
SHARES: Final = 8


def free_port() -> int:
    """One that no server of this machine has at this moment."""
    for port in _ports:
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("each port of this share was given out")


def _of_this_process() -> Iterator[int]:
    number = re.search(r"\d+", os.environ.get("PYTEST_XDIST_WORKER", ""))
    at = int(number.group()) if number else os.getpid()
    share = PORTS[at % SHARES :: SHARES]
    begin = random.SystemRandom().randrange(len(share))
    yield from share[begin:]
    yield from share[:begin]


_ports: Final = _of_this_process()
