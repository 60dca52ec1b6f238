"""Certificates of tests, made by `certificates/make.sh`."""

from pathlib import Path


def certificates(name: str) -> str:
    """The path of one."""
    return str(Path(__file__).parent / "certificates" / name)
