"""Brokers in tests: `with odradek.testing.cluster() as c`, and the fixtures of pytest beside it.

Nothing is imported before a cluster is asked for: every pytest of an environment loads this.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from odradek.testing.isolated import IsolatedCluster
    from odradek.testing.local import LocalCluster

__all__ = ["cluster"]


@overload
def cluster(
    brokers: int = 3,
    settings: Mapping[str, object] | None = None,
    *,
    isolated: Literal[False] = False,
) -> "LocalCluster": ...


@overload
def cluster(
    brokers: int = 3, settings: Mapping[str, object] | None = None, *, isolated: Literal[True]
) -> "IsolatedCluster": ...


def cluster(
    brokers: int = 3, settings: Mapping[str, object] | None = None, *, isolated: bool = False
) -> "LocalCluster | IsolatedCluster":
    """Brokers that run in this process while the context lasts, or each in a process of its own."""
    if isolated:
        from odradek.testing.isolated import IsolatedCluster

        return IsolatedCluster(brokers, settings)
    from odradek.testing.local import LocalCluster

    return LocalCluster(brokers, settings)
