"""The limit of open files."""

import resource
from collections.abc import Iterator

import pytest

from odradek.runtime.descriptors import DESCRIPTORS_MAX, use_all_descriptors


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Other tests keep what they have."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_shell_s_limit_is_raised_to_what_is_allowed() -> None:
    """A server may have more connections than the thousand files of a login."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    raised = use_all_descriptors()
    assert raised > 256
    assert raised <= DESCRIPTORS_MAX
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (raised, most)
    assert use_all_descriptors() == raised
