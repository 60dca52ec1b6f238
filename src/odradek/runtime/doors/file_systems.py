"""What is known of the file system under a log dir.

A journal that commits changes of names in the order in which they were made holds, with each
change, all earlier ones: ext4's (all changes are in one running transaction, and transactions are
committed one after the other) and that of XFS (the log is written up to the change, in order). Then
one sync makes the names in many new directories durable. Of others nothing is assumed; nor where
Linux does not say which it is, as below an overlay.
"""

import os
from pathlib import Path
from typing import Final

MOUNTS: Final = "/proc/self/mountinfo"
DEVICES: Final = "/sys/dev/block"
EXT4: Final = "/sys/fs/ext4"
JOURNAL: Final = "journal_task"  # ext4 can be without one


def commits_in_order(directory: str) -> bool:
    """Whether the sync of the latest change of names makes all earlier ones durable."""
    try:
        device = os.stat(directory).st_dev  # noqa: PTH116 - the door has paths as strings
        number = f"{os.major(device)}:{os.minor(device)}"
        kind = _type_of(number, Path(MOUNTS).read_text())
        if kind == "ext4":
            name = Path(DEVICES, number).resolve(strict=True).name
            return Path(EXT4, name, JOURNAL).exists()
    except OSError:
        return False
    return kind == "xfs"


def _type_of(device: str, mounts: str) -> str:
    """Of the file system on a device; its fields stand behind a dash of their own."""
    for line in mounts.splitlines():
        fields = line.split()
        if fields[2] == device:
            return fields[fields.index("-") + 1]
    return ""
