"""A broker as `odradek serve FILE` runs it, whose loop may not wait once it serves.

What would wait raises where it is called: for a disk's directory, for a lock, for SQLite, for time.
A log is read there only where it is in memory, by `preadv` with RWF_NOWAIT, which is not watched.
"""

import sys
from pathlib import Path

from blockbuster import BlockBuster, BlockBusterFunction

from odradek.broker.broker import Broker
from odradek.cli.reaching import settings
from odradek.config import sources
from odradek.runtime.serve import run_broker

WATCHED = (
    *("os.ftruncate", "os.fsync", "os.fdatasync", "os.truncate", "os.makedirs", "os.statvfs"),
    *("os.open", "os.close", "os.pread", "os.pwritev"),
)


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
    watching.activate()


if __name__ == "__main__":
    config, _ = sources.load(*settings.gather(Path(sys.argv[1]), ()))
    run_broker(config, watch)
