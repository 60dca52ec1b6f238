"""A command as a person sees it, on a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence


def shown(
    command: Sequence[str], variables: Mapping[str, str], *, columns: int = 80
) -> tuple[str, int]:
    """All that was written to the terminal, and the exit code. Questions are answered by no."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True
    )
    os.close(theirs)
    said = bytearray()
    try:
        while data := os.read(ours, 65_536):
            said += data
            if said.endswith(b"[y/N]: "):
                os.write(ours, b"n\n")
    except OSError:  # the terminal's end on Linux
        pass
    os.close(ours)
    code = process.wait(30)
    return said.decode().replace("\r\n", "\n"), code
