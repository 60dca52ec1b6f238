"""`logdirs.*`: the log dirs of the broker that is asked.

`logdirs.describe` has for each dir its `state` (online, cordoned, hangs, offline), `since` when and
for what `reason` it is offline, its `partitions`, `leaders` and `bytes`, the `free` and the `total`
bytes of the disk (absent where it does not tell), the `moves` that fill it: partition, bytes, bytes
left and bytes in a second, and what was found to be `corrupt`: partition, file, position, offset.

`logdirs.offline`, `.replace`, `.cordon` and `.uncordon` take the `dir`; the first two answer with
the number of its `replicas`.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.partitions.logs.room import hangs, room_of
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import (
    LOG_DIR_CORDON,
    LOG_DIR_OFFLINE,
    LOG_DIR_REPLACE,
    LOG_DIR_UNCORDON,
    LOG_DIRS_DESCRIBE,
)
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.moves import Move


async def describe(services: Services, call: Call) -> Mapping[str, Json]:
    """All of them, in the order of the setting."""
    check_broker(services, call)
    dirs = services.replicas.dirs.dirs
    return {"dirs": [await _described(services, log_dir) for log_dir in dirs]}


async def offline(services: Services, call: Call) -> Mapping[str, Json]:
    """As if it had failed."""
    check_broker(services, call)
    return {"replicas": services.dir_admin.set_offline(call.arguments.text("dir"))}


async def replace(services: Services, call: Call) -> Mapping[str, Json]:
    """An empty disk is there now."""
    check_broker(services, call)
    return {"replicas": await services.dir_admin.replace(call.arguments.text("dir"))}


async def cordon(services: Services, call: Call) -> Mapping[str, Json]:
    """No new log comes there."""
    check_broker(services, call)
    await services.dir_admin.set_cordoned(call.arguments.text("dir"), is_cordoned=True)
    return {}


async def uncordon(services: Services, call: Call) -> Mapping[str, Json]:
    """New logs come there again."""
    check_broker(services, call)
    await services.dir_admin.set_cordoned(call.arguments.text("dir"), is_cordoned=False)
    return {}


async def _described(services: Services, log_dir: LogDir) -> Mapping[str, Json]:
    name, dirs = log_dir.name, services.replicas.dirs
    if log_dir.is_offline:
        return {
            "dir": name,
            "state": "offline",
            "since": services.dir_admin.offline_since.get(name),
            "reason": dirs.failures.reason(name),
        }
    is_stuck = hangs(services.replicas.logs, log_dir)
    state = "hangs" if is_stuck else "cordoned" if log_dir.is_cordoned else "online"
    room = await room_of(services.replicas.logs, log_dir)
    leaders = sum(led.log.folder.disk.name == name for led in services.replicas.all_led())
    moving = [Move(dirs, it) for it in sorted(log_dir.futures) if dirs.dir_of(it) is not None]
    return {
        "dir": name,
        "state": state,
        "reason": services.replicas.logs.warnings.get(name),
        "partitions": len(log_dir.logs),
        "leaders": leaders,
        "bytes": sum(found.size for found in log_dir.logs.values()),
        "free": None if room is None else room.free,
        "total": None if room is None else room.total,
        "moves": [_move(services, move) for move in moving],
        "corrupt": [
            {
                "partition": str(it.partition),
                "file": it.path_of(it.corrupt.segment_base),
                "position": it.corrupt.position,
                "offset": it.corrupt.offset,
            }
            for it in log_dir.logs.values()
            if it.corrupt is not None
        ],
    }


def _move(services: Services, move: Move) -> Mapping[str, Json]:
    return {
        "topic": move.partition.topic,
        "partition": move.partition.partition,
        "source": move.source.name,
        "bytes": move.current.size,
        "left": move.bytes_left,
        "bytes_per_second": services.replicas.moves.bytes_per_second(move),
    }


OPERATIONS: Final = (
    Operation(LOG_DIRS_DESCRIBE, Decider.BROKER, describe),
    Operation(LOG_DIR_OFFLINE, Decider.BROKER, offline),
    Operation(LOG_DIR_REPLACE, Decider.BROKER, replace),
    Operation(LOG_DIR_CORDON, Decider.BROKER, cordon),
    Operation(LOG_DIR_UNCORDON, Decider.BROKER, uncordon),
)
