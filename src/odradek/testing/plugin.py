"""The plugin of pytest: the fixtures `odradek` and `odradek_cluster`, and their mark.

    @pytest.mark.odradek(brokers=5, settings={"min.insync.replicas": 3}, chaos=7)

Every pytest of an environment loads this module, so it imports nothing but pytest.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from odradek.testing.chaos import Chaos
    from odradek.testing.isolated import IsolatedCluster
    from odradek.testing.local import LocalCluster

    AnyCluster = LocalCluster | IsolatedCluster

MARK = (
    "odradek(brokers=3, settings={}, chaos=None, isolated=False): what the fixtures odradek and "
    "odradek_cluster are made of"
)
_CHAOS: "pytest.StashKey[Chaos]" = pytest.StashKey()
_RUNNING: "pytest.StashKey[AnyCluster]" = pytest.StashKey()
_NUMBERS = count(1)


class _Wanted(NamedTuple):
    """The arguments of the mark."""

    brokers: int
    settings: Mapping[str, object] = {}
    chaos: int | None = None
    isolated: bool = False


def pytest_configure(config: pytest.Config) -> None:
    """Names the mark, for `--strict-markers`."""
    config.addinivalue_line("markers", MARK)


class TestBroker:
    """A broker that tests share, each with topics of its own."""

    __test__ = False

    def __init__(self, cluster: "AnyCluster") -> None:
        self._cluster = cluster
        self._made: list[str] = []

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        return self._cluster.bootstrap

    def topic(
        self, name: str, partitions: int = 1, *, settings: Mapping[str, str] | None = None
    ) -> str:
        """Makes a topic that no other test has; what it is called begins with `name`."""
        own = f"{name}-{next(_NUMBERS)}"
        self._made.append(self._cluster.topic(own, partitions, settings=settings))
        return own

    def close(self) -> None:
        """Its topics go with the test."""
        self._cluster.delete(self._made)


@pytest.fixture
def odradek(request: pytest.FixtureRequest) -> Iterator[TestBroker]:
    """One broker, and topics of the test's own. With the mark it is the test's alone."""
    if request.node.get_closest_marker("odradek") is None:
        broker = TestBroker(request.getfixturevalue("_odradek_of_session"))
        yield broker
        broker.close()
    else:
        with _running(request, _wanted(request, 1)) as cluster:
            yield TestBroker(cluster)


@pytest.fixture(scope="session")
def _odradek_of_session() -> "Iterator[LocalCluster]":
    from odradek.testing import cluster

    with cluster(1) as running:
        yield running


@pytest.fixture
def odradek_cluster(request: pytest.FixtureRequest) -> "Iterator[AnyCluster]":
    """Three brokers with two log dirs each, or as many as the mark says."""
    with _running(request, _wanted(request, 3)) as cluster:
        yield cluster


def _wanted(request: pytest.FixtureRequest, brokers: int) -> _Wanted:
    mark = request.node.get_closest_marker("odradek")
    if mark is None:
        return _Wanted(brokers)
    try:
        wanted = _Wanted(*mark.args, **{"brokers": brokers, **mark.kwargs})
    except TypeError as error:
        raise pytest.UsageError(f"@pytest.mark.odradek: {error}; {MARK}") from None
    if wanted.isolated and wanted.chaos is not None:
        raise pytest.UsageError("@pytest.mark.odradek: chaos draws faults that isolated has not")
    return wanted


@contextmanager
def _running(request: pytest.FixtureRequest, wanted: _Wanted) -> "Iterator[AnyCluster]":
    from odradek.testing import cluster

    if wanted.isolated:
        with cluster(wanted.brokers, wanted.settings, isolated=True) as apart:
            request.node.stash[_RUNNING] = apart
            yield apart
        return
    with cluster(wanted.brokers, wanted.settings) as running:
        request.node.stash[_RUNNING] = running
        if wanted.chaos is None:
            yield running
            return
        from odradek.testing.chaos import Chaos

        chaos = request.node.stash[_CHAOS] = Chaos(running, wanted.chaos)
        yield running
        chaos.end()
        if chaos.failure is not None:
            raise chaos.failure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of a test that failed: the seed, the faults so far, and what the brokers warned of."""
    report = yield
    running = item.stash.get(_RUNNING, None)
    if report.failed and running is not None:
        if (chaos := item.stash.get(_CHAOS, None)) is not None:
            report.sections.append(("odradek: faults", str(chaos)))
        if told := running.told:
            report.sections.append(("odradek: brokers", "\n".join(told)))
    return report
