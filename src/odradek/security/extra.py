"""The extra `secure`: packages that few settings need, imported when one of those is used."""

from importlib import import_module
from typing import Any

from odradek.model.errors import InvalidSetting


def needed(module: str, why: str) -> Any:
    """A module of the extra. InvalidSetting says what needs it and how it is had."""
    try:
        return import_module(module)
    except ImportError:
        root = module.partition(".")[0]
        package = "PyJWT" if root == "jwt" else root
        raise InvalidSetting(
            f"{why} needs {package}, which is not installed: pip install 'odradek[secure]'"
        ) from None
