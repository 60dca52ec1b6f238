"""Members of groups that can be killed: each is a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.compat.broker_process import Broker
from tests.external.zookeeper import die_with_parent

ASSIGNED = "assigned"


@contextmanager
def mortal(command: Sequence[str], told: str = ASSIGNED) -> Iterator[subprocess.Popen[str]]:
    """Runs from the moment at which it says that it has a share; `kill` it, or it is killed."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
    ) as process:
        assert process.stdout is not None
        try:
            assert any(told in line for line in process.stdout), "it has ended"
            yield process
        finally:
            process.kill()


def member(script: str, broker: Broker, topic: str, group: str) -> list[str]:
    """How a script in Python is called: with the broker, the topic, and the group."""
    return [sys.executable, "-c", script, broker.bootstrap, topic, group]
