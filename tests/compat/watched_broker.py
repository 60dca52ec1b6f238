"""A broker as `odradek serve FILE` runs it, whose loop may not wait once it serves.

What would wait raises where it is called: for a disk's directory, for a lock, for SQLite, for time.
Page by page the files of a log are read and written on the loop by design, and are not watched.
"""

import sys
from pathlib import Path

from blockbuster import BlockBuster, BlockBusterFunction

from odradek.broker.broker import Broker
from odradek.cli import settings
from odradek.config import sources
from odradek.runtime.serve import run_broker

WATCHED = ("os.ftruncate", "os.fsync", "os.fdatasync", "os.truncate", "os.makedirs")


def watch(broker: Broker) -> None:
    """From now on."""
    del broker
    print("[KafkaServer id=1] started", flush=True)
    watching = BlockBuster("odradek")
    for name in WATCHED:
        watching.functions[name] = BlockBusterFunction(None, name, scanned_modules="odradek")
    for function in watching.functions.values():
        function.can_block_in("odradek/runtime/serve.py", "_serve")  # when all is over
        function.can_block_in("structlog/_output.py", {"msg"})  # a line for people, on stderr
    # from the page cache: what is cold was read by the disk's thread before
    watching.functions["os.sendfile"].can_block_in("odradek/runtime/stream.py", "_send_range")
    # the size of an index of a log that a leadership begins in: its directory was just looked at
    watching.functions["os.stat"].can_block_in("odradek/storage/segments/segment.py", "_entries")
    watching.activate()


if __name__ == "__main__":
    config, _ = sources.load(*settings.gather(Path(sys.argv[1]), ()))
    run_broker(config, watch)
