"""Which paths ZooKeeper takes. Client and server hold to the same rule.

It is written for the 16-bit characters of Java: what lies beyond them is refused too.
"""

import re
from typing import Final

_ILLEGAL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]|//|/\.\.?(?=/|\Z)"
)


def path_fault(path: str) -> str | None:
    """What is wrong with a path, as a sentence for its author; None if nothing is."""
    if not path.startswith("/"):
        return "a path begins with '/'"
    if path == "/":
        return None
    if path.endswith("/"):
        return "a path does not end with '/'"
    fault = _ILLEGAL.search(path)
    if fault is None:
        return None
    if fault[0].startswith("/"):
        return f"{fault[0]!r} at {fault.start()}: a path has neither empty nor relative parts"
    return f"the character {fault[0]!r} at {fault.start()} is not allowed in a path"


def parent_of(path: str) -> str:
    """The path of the node above; the root has none and must not be asked for."""
    return path[: path.rindex("/")] or "/"
