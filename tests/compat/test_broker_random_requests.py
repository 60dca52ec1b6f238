"""Requests that are well formed and make sense only by chance: each is answered, or refused.

Every API in every version that is offered, with names that are often those of something that is
there, so that groups are joined, topics made, filled, enlarged and deleted under each other's feet.
Afterwards the broker's log must not have a single error of ours.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from odradek.broker import apis
from odradek.model.errors import ErrorCode, UnsupportedVersion
from odradek.wire.apis import APIS
from odradek.wire.headers import read_response
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.schema import Request
from tests.compat.broker_process import OdradekBroker
from tests.compat.hostile import Raw
from tests.samples.wire import sample

REQUESTS: Final = 1_500
AT_ONCE: Final = 4
NAMES: Final = (
    "orders",
    "lines",
    "__consumer_offsets",
    "readers",
    "range",
    "",
    "..",
    "\x00" * 9_000,
)
NUMBERS: Final = (-1, 0, 1, 2, 3)
MILLIS: Final = (-1, 0, 1, 50, 100)
CONTROL: Final = {4, 5, 6, 7}  # what a newer controller says, or a broker that leaves, is obeyed
OFFERED: Final = [
    (key, version)
    for key, api in apis.OFFERED.items()
    for version in api.offered
    if key not in CONTROL
]
PARTITIONS_MAX: Final = 20


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OdradekBroker]:
    """Of the test's own: it reads the log."""
    running = OdradekBroker(tmp_path / "broker")
    running.start()
    yield running
    running.stop()


def made_likelier(message: Any, random: Random) -> Any:
    """The same message, about things that may be there; it asks nobody to wait for long."""
    for name in message.__slots__:
        value = getattr(message, name)
        likely = random.random() < 0.7
        if isinstance(value, str) and likely:
            setattr(message, name, random.choice(NAMES))
        elif isinstance(value, list):
            setattr(message, name, [likelier(it, random) for it in value])
        elif name.endswith("_ms") and isinstance(value, int):
            setattr(message, name, random.choice(MILLIS))
        elif name in {"num_partitions", "count"} and isinstance(value, int):
            setattr(message, name, random.randrange(-1, PARTITIONS_MAX))
        elif isinstance(value, int) and not isinstance(value, bool) and likely:
            setattr(message, name, random.choice(NUMBERS))
        elif hasattr(value, "__slots__"):
            made_likelier(value, random)
    return message


def likelier(value: Any, random: Random) -> Any:
    """An element of a list."""
    if isinstance(value, str):
        return random.choice(NAMES) if random.random() < 0.7 else value
    return made_likelier(value, random) if hasattr(value, "__slots__") else value


def question(random: Random) -> tuple[Request, int]:
    """One that expects an answer, and its version."""
    key, version = random.choice(OFFERED)
    request = made_likelier(
        sample(APIS[key].request, version, random, tame=random.random() < 0.5), random
    )
    if not getattr(request, "acks", 1):
        request.acks = 1
    return request, version


@pytest.mark.parametrize("seed", [1, 2])
def test_each_is_answered_and_the_log_is_clean(broker: OdradekBroker, seed: int) -> None:
    """In order, in the form of its version; and the broker is as well as before."""
    random = Random(seed)
    with Raw(broker) as client:
        for name in ("orders", "lines"):
            client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 9)
        answered = 0
        while answered < REQUESTS:
            asked = []
            for request, version in (question(random) for _ in range(AT_ONCE)):
                try:
                    frame = client.frame(request, version)
                except UnsupportedVersion:  # a field that this version does not have
                    continue
                asked.append((request.KEY, version))
                client.send(frame)
            for key, version in asked:
                read_response(APIS[key].response, version, client.answer())
            answered += len(asked)
        row = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="after")]), 9).topics[0]
        assert row.error_code == ErrorCode.NONE
    broker.stop()
    assert [line for line in broker.log().splitlines() if "error" in line or "Trace" in line] == []
