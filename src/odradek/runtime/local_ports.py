"""Ports of this machine for servers that are started together."""

import socket


def port_near(wanted: int, taken: set[int], host: str = "127.0.0.1") -> int:
    """The wanted port where it is free, otherwise one that the system chooses; never one `taken`.

    Another process can be quicker; then the server that was to have it says so and does not start.
    """
    port = wanted
    while port in taken or not _is_free(host, port):
        with socket.socket() as probe:
            probe.bind((host, 0))
            port = probe.getsockname()[1]
    taken.add(port)
    return port


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
