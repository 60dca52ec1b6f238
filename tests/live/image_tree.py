"""The image's tree without a container engine: namespaces of our own, and a root of bind mounts.

Run as `unshare --user --map-root-user --mount --net --pid --fork PYTHON image_tree.py ROOT SCRIPT`.
It starts SCRIPT as a container's engine would, prints its log, and once the line came that is
waited for, produces and consumes a record, ends the broker with SIGTERM and prints how that ended.
"""

import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Consumer, Producer

ROOT = Path(__file__).parents[2]
MS_BIND, MS_REC = 4096, 16384
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
OF_THE_HOST = (
    *(Path(path) for path in ("/usr", "/proc", "/dev", tempfile.gettempdir())),
    *(ROOT, Path(sys.prefix), Path(sys.base_prefix)),
)


def main() -> None:
    """In the namespaces."""
    root, awaited, script = Path(sys.argv[1]), re.compile(sys.argv[2]), sys.argv[3]
    _lift_loopback()
    _make(root)
    os.chroot(root)
    os.chdir("/container")
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        if awaited.search(line):
            break
    else:
        sys.exit(f"ended with {process.wait()}")
    _converse()
    os.kill(process.pid, signal.SIGTERM)
    print(f"ended with {process.wait()}")


def _lift_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _make(root: Path) -> None:
    for source in OF_THE_HOST:
        target = root / source.relative_to("/")
        if not target.exists():
            _bind(source, target)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    shutil.copytree(ROOT / "deploy" / "image", root, dirs_exist_ok=True)
    for name in ("passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache"):
        if (Path("/etc") / name).exists():
            shutil.copy(Path("/etc") / name, root / "etc" / name)
    for name in ("container", "tmp", "var"):
        (root / name).mkdir(exist_ok=True)
    command = root / "opt" / "odradek" / "bin" / "odradek"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m odradek "$@"\n')
    command.chmod(0o755)


def _bind(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(bytes(source), bytes(target), None, MS_BIND | MS_REC, None):
        raise OSError(ctypes.get_errno(), f"mount {source}")


def _converse() -> None:
    settings = {"bootstrap.servers": "127.0.0.1:9093", "log_level": 0}
    producer = Producer(settings)
    producer.produce("orders", b"a record")
    assert producer.flush(30) == 0
    consumer = Consumer({**settings, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(30)
    assert message is not None
    print(f"consumed {message.value()!r}", flush=True)
    consumer.close()


if __name__ == "__main__":
    main()
