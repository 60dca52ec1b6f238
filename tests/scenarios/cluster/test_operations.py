"""What our brokers are asked beyond Kafka's protocol."""

import pytest

from odradek.client.admin.operations import Wanted, operate
from odradek.client.errors import Refused, check
from odradek.model.access import Operation
from odradek.model.admin_operations import (
    CLUSTER_HEALTH,
    CONTROLLER_DESCRIBE,
    REPLICAS_DESCRIBE,
    ActsOn,
    AdminOperation,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest


def test_any_broker_forwards_to_the_controller(t: ClusterScenario) -> None:
    """A client need not know who decides."""
    operator = t.client("operator")
    operator.make("orders", partitions=2)
    for number in t.brokers:
        wanted = Wanted(CONTROLLER_DESCRIBE, broker=BrokerId(number))
        found = operator.does(operate(operator.cluster, wanted))
        assert found["controller"] == t.controller()
        assert (found["topics"], found["partitions"], found["brokers"]) == (1, 2, [1, 2, 3])


def test_health_names_a_dead_broker_and_heals(t: ClusterScenario) -> None:
    """The controller is asked, wherever it is after the failover."""
    operator = t.client("operator")
    operator.make("orders")
    dead = t.controller()
    assert dead is not None
    t.broker(dead).kill()
    t.await_isr("orders", *{1, 2, 3} - {dead})
    found = operator.does(operate(operator.cluster, Wanted(CLUSTER_HEALTH)))
    (problem,) = found["problems"]
    assert problem == {
        "cause": f"broker {dead} is not registered",
        "kind": "other",
        "brokers": [],
        "effects": {"out of sync": {"orders": [0]}},
    }
    t.broker(dead).start()
    t.await_isr("orders", 1, 2, 3)
    assert operator.does(operate(operator.cluster, Wanted(CLUSTER_HEALTH)))["healthy"]


def test_a_replica_tells_of_an_epoch_in_which_nothing_was_written(t: ClusterScenario) -> None:
    """Who makes a lost state again has to begin above it: brokers obey no lower one."""
    operator = t.operator()
    operator.places("orders", (1, 2, 3))
    operator.produce("orders", "a")
    t.broker(1).kill()
    t.await_isr("orders", 2, 3)
    t.run(seconds=1)
    state = t.state("orders")
    assert state.leader_epoch > 0
    for number in (2, 3):
        wanted = Wanted(
            REPLICAS_DESCRIBE,
            {"topic": "orders"},
            resource=str(number),
            broker=BrokerId(number),
        )
        (found,) = operator.does(operate(operator.cluster, wanted))["replicas"]
        assert found["leader_epoch"] == state.leader_epoch


@pytest.mark.parametrize(
    ("name", "resource", "code"),
    [
        ("cluster.dance", ActsOn.CLUSTER, ErrorCode.UNSUPPORTED_VERSION),
        ("cluster.health", ActsOn.BROKER, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_does_not_exist_is_refused(name: str, resource: ActsOn, code: ErrorCode) -> None:
    """With a code that tells an old broker from a wrong question."""
    with ClusterScenario(brokers=1, settings={"default.replication.factor": "1"}) as t:
        operator = t.client("operator")
        wanted = Wanted(AdminOperation(name, resource, Operation.DESCRIBE))
        with pytest.raises(Refused) as refused:
            operator.does(operate(operator.cluster, wanted))
        assert refused.value.code is code


def test_producers_are_told_by_every_replica(t: ClusterScenario) -> None:
    """A tool asks one broker for all that it holds, whoever leads (kafka-transactions)."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    t.run(seconds=1)
    asked = DescribeProducersRequest([TopicRequest("orders", [0])])

    async def last_sequence(broker: int) -> int:
        answer = await (await shop.cluster.broker(BrokerId(broker))).ask(asked, 0)
        (row,) = answer.topics[0].partitions
        check(row.error_code)
        (producer,) = row.active_producers
        return int(producer.last_sequence)

    assert [shop.does(last_sequence(it)) for it in t.brokers] == [1, 1, 1]
