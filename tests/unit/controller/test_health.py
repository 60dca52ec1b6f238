"""What the controller says is wrong: each cause once, with all that follows from it."""

from typing import Any

from odradek.controller.events import DeletionAsked, HealthAsked, ReassignmentAsked, RetryIsDue
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from tests.unit.controller.conversation import Conversation, Settings
from tests.unit.controller.test_trying_again import allow, hide


def told(talk: Conversation) -> dict[str, Any]:
    """Effects by cause."""
    answer = talk.on(HealthAsked())
    assert answer["healthy"] == (not answer["problems"])
    return {problem["cause"]: problem["effects"] for problem in answer["problems"]}


def test_a_dead_broker_is_one_cause() -> None:
    """Not one for each of its partitions."""
    talk = Conversation().begin()
    talk.make("orders", (1, 2), (2, 3)).make("single", (3,))
    assert told(talk) == {}
    talk.brokers(1, 2)
    assert told(talk) == {
        "broker 3 is not registered": {"no leader": {"single": [0]}, "out of sync": {"orders": [1]}}
    }


def test_two_brokers_that_are_apart_are_one_cause() -> None:
    """Who follows and who leads: others may reach both, and each partition says the same."""
    talk = Conversation().begin()
    talk.make("orders", (1, 2), (1, 2), (3, 2))
    talk.brokers(1, 3)
    talk.brokers(1, 2, 3)
    assert told(talk) == {
        "broker 2 has not caught up with broker 1 yet": {"out of sync": {"orders": [0, 1]}},
        "broker 2 has not caught up with broker 3 yet": {"out of sync": {"orders": [2]}},
    }


def test_what_min_isr_refuses_is_said() -> None:
    """Producers with acks=all fail there, which a list of replicas out of sync does not say."""
    settings = Settings()
    settings.min_isrs["orders"] = 2
    talk = Conversation(settings=settings).begin()
    talk.make("orders", (1, 2))
    talk.brokers(1, 3)
    assert told(talk) == {
        "broker 2 is not registered": {
            "out of sync": {"orders": [0]},
            "fewer in sync than min.insync.replicas": {"orders": [0]},
        }
    }


def test_a_minimum_above_the_number_of_replicas_is_said() -> None:
    """It counts as that number, so nothing is refused; but fewer have a record than was meant."""
    settings = Settings()
    settings.min_isrs["orders"] = 3
    talk = Conversation(settings=settings).begin().make("orders", (1, 2))
    effect = "min.insync.replicas counts as the number of replicas"

    def capped(min_isr: int, count: str) -> str:
        return (
            f"min.insync.replicas is {min_isr}, with {count} assigned: acks=all needs each of "
            f"them; odradek partition reassign TOPIC -r {min_isr}, or set min.insync.replicas lower"
        )

    first = {capped(3, "2 replicas"): {effect: {"orders": [0]}}}
    assert told(talk) == first
    settings.min_isrs["single"] = 2
    alone = {capped(2, "1 replica"): {effect: {"single": [0]}}}
    assert told(talk.make("single", (1,))) == {**first, **alone}


def test_a_log_dir_that_failed_is_no_dead_broker() -> None:
    """The operator replaces a disk, and not a machine."""
    talk = Conversation().begin()
    talk.make("orders", (1, 2), (2, 1))
    talk.reports(2, ("orders", 0), code=ErrorCode.KAFKA_STORAGE_ERROR)
    assert told(talk) == {"the replica on broker 2 is offline": {"out of sync": {"orders": [0]}}}


def test_a_partition_that_waits_for_a_whole_log_names_whom_it_waits_for() -> None:
    """A live replica that lacks records is not elected while another may have them."""
    settings = Settings()
    settings.min_isrs["orders"] = 2
    talk = Conversation(settings=settings).begin()
    talk.make("orders", (1, 2))
    talk.brokers(1, 3)
    talk.brokers(3)
    talk.brokers(1, 3)
    talk.reports(1, ("orders", 0), unclean=True, code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert told(talk)["broker 2 is not registered"]["no leader"] == {"orders": [0]}


def test_a_reassignment_that_copies_is_no_problem_and_one_that_waits_is() -> None:
    """It would wait for ever, and the deletion of its topic with it."""
    talk = Conversation().begin()
    talk.make("orders", (1, 2))
    where = TopicPartition("orders", 0)
    talk.on(ReassignmentAsked({where: (BrokerId(1), BrokerId(3))}))
    assert told(talk) == {}
    talk.on(DeletionAsked(["orders"]))
    assert told(talk) == {"topic orders is being reassigned": {"deletion waits": {"orders": [0]}}}
    talk.brokers(1, 2)
    assert told(talk)["broker 3 is not registered"] == {"reassignment waits": {"orders": [0]}}
    talk.on(ReassignmentAsked({where: None}))
    talk.stopped(1)
    talk.stopped(2)
    assert told(talk) == {}


def test_a_deletion_names_the_replica_that_is_out_of_reach() -> None:
    """Its name cannot be used again before."""
    talk = Conversation().begin()
    talk.make("orders", (1, 2))
    talk.brokers(1, 3)
    talk.on(DeletionAsked(["orders"]))
    talk.stopped(1)
    assert told(talk) == {"broker 2 is not registered": {"deletion waits": {"orders": [0]}}}
    talk.brokers(1, 2, 3)
    talk.stopped(2)
    assert told(talk) == {}


def test_a_state_that_cannot_be_written_is_a_cause() -> None:
    """The partition has no leader although a replica is in sync and alive: only a log said why."""
    talk = Conversation().begin().make("orders", (2, 3))
    hide(talk)
    talk.brokers(1, 3)
    (cause,) = (it for it in told(talk) if "cannot be written" in it)
    assert cause.startswith("/brokers/topics/orders/partitions/0/state in ZooKeeper cannot be")
    assert told(talk)[cause] == {"no leader": {"orders": [0]}}
    talk.tree.refuse = allow
    talk.on(RetryIsDue())
    assert not any("cannot be written" in it for it in told(talk))
