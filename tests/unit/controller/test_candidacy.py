"""A broker becomes the controller, or learns who is, whatever happens to its messages."""

import pytest

from odradek.controller.candidacy import (
    Bid,
    ControllerLease,
    Lost,
    decide_bid,
    decide_outcome,
    decide_takeover,
    epoch_creation,
)
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch
from odradek.model.units import Timestamp
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create, Delete, Multi, SetData
from tests.unit.controller.znode_stats import stat

ME, OTHER = BrokerId(1), BrokerId(2)
SESSION, NOW = 77, Timestamp(5)


def epoch(number: int, version: int) -> Data:
    """The epoch's znode."""
    return Data(str(number).encode(), stat(version))


def controller(broker: BrokerId, session: int = SESSION) -> Data:
    """The controller's znode."""
    return Data(ControllerZnode.encode(broker, NOW), stat(0, owner=session))


def bid() -> Bid:
    """A bid where nobody was the controller."""
    return decide_bid(ME, epoch(6, 9), NOW)


def test_a_bid_takes_the_office_and_the_epoch_together() -> None:
    """Both or neither: there is no controller that has not raised the epoch."""
    assert bid().multi == Multi(
        (
            Create("/controller", ControllerZnode.encode(ME, NOW), mode=CreateMode.EPHEMERAL),
            SetData("/controller_epoch", b"7", 9),
        )
    )
    assert bid().lease == ControllerLease(ControllerEpoch(7), 10)


def test_in_a_new_cluster_the_first_epoch_is_one() -> None:
    """The znode is made with 0, and the first controller raises it."""
    assert epoch_creation() == Create("/controller_epoch", b"0")
    decided = decide_bid(ME, epoch(0, 0), NOW)
    assert decided.lease == ControllerLease(ControllerEpoch(1), 1)


def test_a_bid_without_an_answer_is_read_back() -> None:
    """It happened if both znodes are as we bid, and the ephemeral is of our session."""
    assert decide_outcome(bid(), controller(ME), epoch(7, 10), session_id=SESSION) == bid().lease


@pytest.mark.parametrize(
    ("found", "newest", "outcome"),
    [
        (None, epoch(6, 9), Lost(None)),
        (None, epoch(7, 10), Lost(None)),
        (controller(OTHER), epoch(7, 10), Lost(OTHER)),
        (controller(ME), epoch(8, 11), Lost(ME)),
        (controller(ME, session=76), epoch(7, 10), Lost(ME)),
    ],
)
def test_a_bid_that_is_not_all_there_was_lost(
    found: Data | None, newest: Data, outcome: Lost
) -> None:
    """Another's office, another's epoch, or our own former session: no lease."""
    assert decide_outcome(bid(), found, newest, session_id=SESSION) == outcome


def test_an_epoch_that_is_none_is_refused() -> None:
    """A controller that guessed it could be older than it believes."""
    with pytest.raises(MalformedZnode):
        decide_bid(ME, Data(b"seven", stat(1)), NOW)


def test_a_dead_controller_is_replaced_in_one_multi() -> None:
    """Its node goes, ours comes and the epoch rises, or nothing of that happens."""
    taken = decide_takeover(ME, controller(OTHER), epoch(6, 9), NOW)
    assert taken.multi == Multi((Delete("/controller", 0), *bid().multi.ops))
    assert taken.lease == ControllerLease(ControllerEpoch(7), 10)


def test_a_controller_that_has_handed_over_is_replaced_while_its_wish_stands() -> None:
    """The wish goes in the version in which it was handed over, or nothing happens at all."""
    wish = Data(b"", stat(3))
    taken = decide_takeover(ME, controller(OTHER), epoch(6, 9), NOW, wish=wish)
    ops = (Delete("/admin/next_controller", 3), Delete("/controller", 0), *bid().multi.ops)
    assert taken.multi == Multi(ops)
