"""The znodes by which the controller is moved: written and read back, and read with distrust."""

import pytest

from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.controller import (
    CONTROLLERS_KEPT,
    WISHES_KEPT,
    BrokerFacts,
    ControllerHistory,
    ControllerHistoryZnode,
    NextControllerZnode,
    PastController,
    PastWish,
    Readiness,
    ReadyToServeZnode,
    Wish,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch
from odradek.model.units import Timestamp

ONE, EPOCH = BrokerId(1), ControllerEpoch(4)
WISH = Wish("a", ONE, EPOCH, "an operator")


def test_a_wish_is_read_back_as_it_was_written() -> None:
    """With what is handed over, and without."""
    orders = TopicPartition("orders", 3)
    facts = BrokerFacts(ONE, BrokerEpoch(1 << 40), (orders,), (), shuts_down=True)
    for wish in (WISH, WISH._replace(facts=()), WISH._replace(facts=(facts,))):
        assert NextControllerZnode.decode(NextControllerZnode.encode(wish)) == wish


def test_readiness_is_read_back_as_it_was_written() -> None:
    """Broker, wish and epoch: it holds for that one only."""
    ready = Readiness(ONE, "a", EPOCH)
    assert ReadyToServeZnode.decode(ReadyToServeZnode.encode(ready)) == ready


def test_the_history_ends_one_controller_where_the_next_begins() -> None:
    """It keeps the last of both, and no more."""
    history = ControllerHistory()
    for number in range(CONTROLLERS_KEPT + 5):
        epoch, since = ControllerEpoch(number), Timestamp(number)
        history = history.elected(PastController(ONE, epoch, since, None, "why"))
        history = history.ended(PastWish(str(number), ONE, since, ""))
    assert (len(history.controllers), len(history.wishes)) == (CONTROLLERS_KEPT, WISHES_KEPT)
    assert [it.until for it in history.controllers[-2:]] == [history.controllers[-1].since, None]
    assert ControllerHistoryZnode.decode(ControllerHistoryZnode.encode(history)) == history


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"3",
        b'{"version":1,"broker":1,"epoch":4,"id":"a"}',
        b'{"version":1,"broker":true,"epoch":4,"id":"a","why":""}',
        b'{"version":1,"broker":1,"epoch":4,"id":"a","why":"","handed_over":[{}]}',
    ],
)
def test_a_wish_that_makes_no_sense_is_named_by_its_path(data: bytes) -> None:
    """Nothing of it is guessed: a wish moves the controller."""
    with pytest.raises(MalformedZnode, match=NextControllerZnode.PATH):
        NextControllerZnode.decode(data)
