"""A broker in a process of its own, which ends with the process that started it, however that ends.

Its standard input is a pipe to which nothing is written: it closes when the other end is gone.
"""

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """`python -m odradek`, with a thread that waits for the end of the pipe."""
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    runpy.run_module("odradek", run_name="__main__", alter_sys=True)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
