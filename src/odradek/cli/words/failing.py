"""How a command fails: a sentence, what to do next, and an exit code that scripts can tell apart.

| code | meaning |
|---|---|
| 0 | done |
| 1 | refused: by the cluster, by a file, or because a check found an error |
| 2 | the command was called wrongly |
| 3 | no broker answered, or not within `--timeout`, or another server listens there |
| 130 | interrupted by Ctrl-C |
| 141 | the reader of the output closed its pipe, as `head` does |

With 3 a change that was sent may still be carried out, which the sentence says then.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

from odradek.client.errors import Refused
from odradek.model.errors import BEING_DELETED, BrokerError, ErrorCode

FAILED: Final = 1
MISUSED: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
ERRNO: Final = re.compile(r"\[Errno \d+\] ")
"""What Python puts before the words of the system."""
CONNECT_FAILED: Final = re.compile(r"\[Errno (\d+)\] Connect call failed \([^)]*\)")

NEXT_STEPS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "odradek topic list",
    ErrorCode.GROUP_ID_NOT_FOUND: "odradek group list",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's members first; odradek group members lists them",
    ErrorCode.UNKNOWN_MEMBER_ID: "stop the group's members first; odradek group members lists them",
    ErrorCode.NOT_ENOUGH_REPLICAS: "odradek cluster health names what is not in sync",
    ErrorCode.LEADER_NOT_AVAILABLE: "odradek cluster health names the partitions without a leader",
    ErrorCode.INVALID_REPLICATION_FACTOR: "odradek broker list shows how many brokers there are",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "odradek broker list names those that take replicas",
    ErrorCode.TOPIC_ALREADY_EXISTS: "--if-not-exists makes that no error",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "look at security.protocol, sasl.mechanism and password",
    ErrorCode.SECURITY_DISABLED: "authorizer.class.name in the settings of all brokers turns it on",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "odradek transaction list",
    ErrorCode.RESOURCE_NOT_FOUND: "odradek user list",
    ErrorCode.NETWORK_EXCEPTION: "odradek up starts a broker; --bootstrap HOST:PORT names another",
}
"""What helps after an error of this code."""

UNREADABLE: Final = "odradek cluster health names the log dir, or the log"
"""What helps after a broker answered KAFKA_STORAGE_ERROR; an error of our own disk says itself."""

BEING_DELETED_NEXT: Final = "odradek cluster health says what its deletion waits for"
"""What helps after a topic was refused because it is being deleted."""


class Failed(Exception):
    """Cannot be done: why, what to do next, and the exit code."""

    def __init__(self, text: str, next_step: str = "", code: int = FAILED) -> None:
        super().__init__(text)
        self.next_step = next_step
        self.code = code


def reason(error: BaseException) -> str:
    """Why a connection failed, and which: in the kernel's words where it has some."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.strerror and cause.errno:
        # asyncio's text is "[Errno 111] Connect call failed (...)"; the number says it shorter
        why = os.strerror(cause.errno).lower() if cause.errno > 0 else cause.strerror
        return f"{str(error).partition(': ')[0]}: {why}"
    return plain(str(error))


def plain(text: str) -> str:
    """An error without what Python adds; asyncio repeats the address instead of saying why."""
    said = CONNECT_FAILED.sub(lambda it: os.strerror(int(it[1])).lower(), text)
    return ERRNO.sub("", said)


def failed_by(error: BrokerError | OSError) -> Failed:
    """What went wrong below the command line, for a person."""
    if isinstance(error, BrokerError):
        code = UNREACHABLE if error.code is ErrorCode.NETWORK_EXCEPTION else FAILED
        return Failed(str(error), _next_step(error), code)
    if error.strerror:
        return Failed(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    return Failed(str(error))


def _next_step(error: BrokerError) -> str:
    if isinstance(error, Refused) and error.code is ErrorCode.KAFKA_STORAGE_ERROR:
        return UNREADABLE
    if BEING_DELETED in str(error):
        return BEING_DELETED_NEXT
    return NEXT_STEPS.get(error.code, "")


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` where a known name is near; otherwise nothing."""
    from difflib import get_close_matches

    lowered = {it.lower(): it for it in known}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f"; did you mean {lowered[near[0]]!r}?" if near else ""


def unknown(kind: str, name: str, known: Iterable[str], next_step: str = "") -> Failed:
    """There is no such thing, but perhaps one with nearly this name."""
    return Failed(f"there is no {kind} {name!r}{nearest(name, known)}", next_step)
