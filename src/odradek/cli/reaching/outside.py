"""What `config.providers` read: files and variables of this process."""

import os
from pathlib import Path

from odradek.config.providers import Outside


def outside_of_process() -> Outside:
    """Of settings of brokers and of clients alike."""
    return Outside(lambda path: Path(path).read_bytes(), os.environ)
