"""A file that a setting names, of which a client may say the path: a store, a token, a set of keys.

`/dev/zero` never ends, and a pipe holds up who opens it. So it is a file, and a small one.
"""

import errno
import os
import stat
from typing import Final

from odradek.model.units import MIB, Bytes

BYTES_MAX: Final = Bytes(16 * MIB)


def read_small_file(path: str) -> bytes:
    """All of it. OSError says why not."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        with os.fdopen(fd, "rb", closefd=False) as opened:
            data = opened.read(BYTES_MAX + 1)
    finally:
        os.close(fd)
    if len(data) > BYTES_MAX:
        raise OSError(errno.EFBIG, f"it is larger than {BYTES_MAX} bytes", path)
    return data
