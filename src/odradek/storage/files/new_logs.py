"""A note in the directory of a log that was made while another log dir was offline.

It is for a replica that was new, so a log that is found in that dir later is of an earlier
assignment, which was over. The note has the leader epoch in which the replica came: of several such
logs the one of the highest is the current one.
"""

from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch
from odradek.ports import Disk
from odradek.storage.errors import CorruptFile
from odradek.storage.files.dir_files import put_small, read_small
from odradek.storage.files.names import NEW_HERE


def put_note(disk: Disk, directory: str, came_in: LeaderEpoch) -> None:
    """Its bytes are durable; the caller syncs the directory."""
    put_small(disk, f"{directory}/{NEW_HERE}", str(came_in).encode())


def read_note(disk: Disk, directory: str) -> LeaderEpoch:
    """When it came; NO_LEADER_EPOCH where there is no note."""
    path = f"{directory}/{NEW_HERE}"
    try:
        data = read_small(disk, path)
    except FileNotFoundError:
        return NO_LEADER_EPOCH
    if not data.isdigit():
        raise CorruptFile(path, 0, f"{data!r} is no leader epoch")
    return LeaderEpoch(int(data))
