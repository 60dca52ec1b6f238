"""Options whose values stand elsewhere: `${env:NAME}` in the environment, `${file:PATH}` in a file.

So no secret stands in a pipeline's file, on a command line, or in the list of processes.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from odradek.pipelines.errors import InvalidOption

_ELSEWHERE = re.compile(r"\$\{(?P<kind>env|file):(?P<name>[^}]+)\}")


def revealed(options: Mapping[str, str]) -> dict[str, str]:
    """The options with what stands elsewhere; InvalidOption names the option that is not there."""
    return {name: _revealed(name, value) for name, value in options.items()}


def is_elsewhere(value: str) -> bool:
    """Whether a value says only where the value stands."""
    return _ELSEWHERE.fullmatch(value) is not None


def _revealed(name: str, value: str) -> str:
    found = _ELSEWHERE.fullmatch(value)
    if found is None:
        return value
    where = found["name"]
    if found["kind"] == "env":
        if where not in os.environ:
            raise InvalidOption(f"option {name!r}: there is no {where} in the environment")
        return os.environ[where]
    try:
        return Path(where).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOption(f"option {name!r}: {where} cannot be read: {error}") from error
