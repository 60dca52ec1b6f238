"""The limit of open files."""

import resource
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pytest

from odradek.runtime.doors.descriptors import DESCRIPTORS_MAX, use_all_descriptors


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Other tests keep what they have."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_shell_s_limit_is_raised_to_what_is_allowed() -> None:
    """A server may have more connections than the thousand files of a login."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    raised = use_all_descriptors()
    assert raised > 256
    assert raised <= DESCRIPTORS_MAX
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (raised, most)
    assert use_all_descriptors() == raised


DYING: Final = """
import socket, sys
from odradek.runtime.doors.descriptors import closed_early
called = closed_early(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
held = [listening.accept() for _ in range(8)]
print("all are there", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux that closes in this order")
def test_of_a_killed_process_those_end_first_that_it_has_made() -> None:
    """Another broker hears of it before its clients, who ask that one at once who leads now."""
    with socket.create_server(("127.0.0.1", 0)) as server, select.epoll() as looking:
        process = subprocess.Popen(
            [sys.executable, "-c", DYING, str(server.getsockname()[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        called, _ = server.accept()
        port = int(process.stdout.readline())
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
        assert process.stdout.readline()
        for sock in (*clients, called):
            looking.register(sock, select.EPOLLIN)
        process.kill()
        process.communicate()
        ended = [descriptor for descriptor, _ in looking.poll()]
        assert ended[0] == called.fileno()
        assert len(ended) == 9
        for sock in (*clients, called):
            sock.close()
