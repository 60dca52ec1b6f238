"""How many files and connections this process may have open: as many as the system lets it.

A login shell gives 1,024 to start with, for the sake of programs that use `select`. A server would
run out of them long before its own bounds are reached, and could then open no segment either.
"""

import fcntl
import resource
import socket
from typing import Final

RESERVE: Final = 64
"""So many clients do not get: pages of metrics and health need them, and new segments."""
DESCRIPTORS_MAX: Final = 1 << 20  # some systems give a thousand million; tables are made for them
EARLY_FROM: Final = 1 << 14
"""Numbers of those that are closed before others, or from half of what this process may have on."""


def use_all_descriptors() -> int:
    """Raises the limit as far as this user may; what it is now."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if most == resource.RLIM_INFINITY else min(most, DESCRIPTORS_MAX)
    if now == resource.RLIM_INFINITY or now >= wanted:
        return now
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (OSError, ValueError):  # macOS promises more than it gives
        return now
    return wanted


def files_max() -> int:
    """How many this process may have open now."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def is_reserved(descriptor: int) -> bool:
    """Whether it is one of the last: the system gives the lowest that is free."""
    limit = files_max()
    return limit != resource.RLIM_INFINITY and descriptor >= limit - min(RESERVE, limit // 4)


def closed_early(sock: socket.socket) -> socket.socket:
    """The same connection, by a number above those of others, if there is one.

    Of a process that was killed Linux closes the highest numbers first. Whom it had called hears of
    its end before those who have called it. Among brokers that decides: its clients ask the others
    at once who leads now, and those have to know by then that the one that led is gone.
    """
    limit = files_max()
    first = EARLY_FROM if limit == resource.RLIM_INFINITY else min(EARLY_FROM, limit // 2)
    try:
        raised = socket.socket(fileno=fcntl.fcntl(sock, fcntl.F_DUPFD_CLOEXEC, first))
    except OSError:  # there are too many: as it is, it does as well
        return sock
    raised.settimeout(sock.gettimeout())
    sock.close()
    return raised
