"""States that could not be read or written are tried again: nothing tells when they can be."""

from odradek.controller.events import RetryIsDue
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import TopicPartition
from odradek.zookeeper.client.errors import MultiFailed, NoAuth, OutcomeUnknown
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute_requests import GetData, Multi, Request
from tests.unit.controller.conversation import Conversation

ORDERS = TopicPartition("orders", 0)
STATE = PartitionStateZnode.path(ORDERS)


def hide(talk: Conversation, *, loses_answers: bool = False) -> None:
    """The state may not be read, and not be written; or what is written has no answer."""
    tree = talk.tree

    def refuse(request: Request) -> Answer | None:
        match request:
            case GetData(path) if path == STATE:
                return NoAuth(path)
            case Multi(ops) if STATE in [it.path for it in ops]:
                if not loses_answers:
                    return MultiFailed(NoAuth(STATE), [it.path for it in ops].index(STATE))
                tree.refuse = allow
                tree.answer(request)
                tree.refuse = refuse
                return OutcomeUnknown(STATE)
        return None

    tree.refuse = refuse


def allow(_request: Request) -> None:
    """Nothing is refused."""


def test_a_state_that_makes_no_sense_is_read_again() -> None:
    """Until then nobody is elected, and with it goes on what was due since."""
    talk = Conversation(brokers=(1, 3))
    talk.topic("orders", (2, 3))
    talk.write_state("orders", leader=2, leader_epoch=3, isr=(2, 3))
    good = talk.tree.nodes[STATE].data
    talk.tree.put(STATE, b"{")
    talk.begin()
    assert talk.notes.count("controller.znode_ignored") == 1
    talk.on(RetryIsDue())
    assert talk.tree.nodes[STATE].data == b"{"
    talk.tree.put(STATE, good)
    talk.on(RetryIsDue())
    assert talk.leads("orders") == (3, (3,), 4)
    assert (ORDERS.topic, ORDERS.partition) in talk.led(3)
    assert not talk.controller.has_to_try_again
    assert talk.notes.count("controller.znode_ignored") == 1


def test_brokers_hear_of_a_state_that_was_read_later() -> None:
    """Also where nothing was due: they were told that there is no such partition."""
    talk = Conversation()
    talk.topic("orders", (2, 3))
    talk.write_state("orders", leader=2, leader_epoch=3, isr=(2, 3))
    hide(talk)
    talk.begin()
    assert talk.led(2) == {}
    talk.tree.refuse = allow
    talk.on(RetryIsDue())
    assert talk.leads("orders") == (2, (2, 3), 4)
    assert set(talk.led(2)) == set(talk.led(3)) == {ORDERS}
    talk.sent.clear()
    talk.on(RetryIsDue())
    assert talk.sent == []


def test_a_write_without_an_answer_is_found_once_it_may_be_read() -> None:
    """It was done: the image was behind, and brokers had not heard of it."""
    talk = Conversation().begin().make("orders", (2, 3))
    hide(talk, loses_answers=True)
    talk.brokers(1, 3)
    talk.sent.clear()
    talk.tree.refuse = allow
    talk.on(RetryIsDue())
    assert talk.leads("orders") == (3, (3,), 2)
    assert talk.led(3)[ORDERS].leader == 3
    assert not talk.controller.has_to_try_again


def test_a_failed_write_is_told_of_once() -> None:
    """However often it is tried, by whatever happens; and again after it has been possible."""
    talk = Conversation().begin().make("orders", (2, 3), (1, 2))
    hide(talk)
    talk.brokers(1, 3)
    talk.on(RetryIsDue())
    talk.brokers(1, 2, 3)
    talk.brokers(1, 3)
    assert talk.leads("orders", 1) == (1, (1,), 1)
    assert talk.notes.count("controller.write_failed") == 1
    talk.tree.refuse = allow
    talk.on(RetryIsDue())
    assert talk.leads("orders", 0) == (3, (3,), 1)
    hide(talk)
    talk.brokers(1)
    assert talk.notes.count("controller.write_failed") == 2
