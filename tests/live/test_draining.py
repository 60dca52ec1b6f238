"""A broker that goes: emptied, dead or alive, and taken back with all that it had."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster

DEMOTED_HALF = "broker 3 is the last of 1 more assignment\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Four brokers; partitions have three replicas."""
    with LiveCluster(tmp_path / "cluster", brokers=4) as cluster:
        yield cluster


def fill(
    cluster: LiveCluster, topic: str, records: int = 600, partitions: int | None = None
) -> None:
    """All its partitions, or the first of them, with kilobytes to copy that are acknowledged."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    refused: list[Any] = []
    partitions = partitions or len(cluster.partitions(topic))
    for number in range(records):
        producer.produce(
            topic,
            b"x" * 1_000,
            partition=number % partitions,
            on_delivery=lambda error, _: refused.extend([error] if error else []),
        )
    assert producer.flush(30) == 0
    assert not refused, refused[:3]


def replicas(odradek: Shell, topic: str) -> list[list[int]]:
    """Of each partition, once the broker that is asked has heard of a new topic."""
    eventually(lambda: odradek.run("topic", "describe", topic).code == 0, what=f"{topic} is known")
    (found,) = odradek("topic", "describe", topic, "--json").json
    return [row["replicas"] for row in found["partitions"]]


def status(odradek: Shell, broker: str) -> Any:
    """What `--status` tells."""
    return odradek("broker", "drain", broker, "--status", "--json").json[0]


def test_a_broker_is_emptied_and_taken_back(cluster: LiveCluster, odradek: Shell) -> None:
    """Internal topics, too; it gets no new replicas meanwhile; afterwards all is as before."""
    cluster.place("orders", [3, 1, 2], [4, 3, 1])
    fill(cluster, "orders")
    odradek("consume", "orders", "-e", "-g", "readers")
    (offsets,) = odradek("topic", "describe", "__consumer_offsets", "--json").json
    assert any(3 in row["replicas"] for row in offsets["partitions"])
    plan = odradek("broker", "drain", "3", "--dry-run", "--json").json
    assert {row["state"] for row in plan} == {"planned"}
    assert not status(odradek, "3")["cordoned"]
    done = odradek("broker", "drain", "3", "--throttle", "100M")
    assert "broker 3 is cordoned and empty: it can be stopped" in done.err
    assert {row[-1] for row in done.rows} == {"done"}
    found = status(odradek, "3")
    assert (found["cordoned"], found["replicas"], found["leaders"], found["bytes"]) == (
        True,
        0,
        0,
        0,
    )
    assert (
        odradek("partition", "throttle", "none").out == "throttle taken from 0 brokers, 0 topics\n"
    )
    odradek("topic", "create", "later", "-p", "12", "-r", "3")
    cluster.await_isr("later", 3)
    assert not any(3 in row for row in replicas(odradek, "later"))
    assert "new replicas can go to 3 brokers" in odradek.fails("topic", "create", "wide", "-r", "4")
    said = odradek.fails("partition", "reassign", "later", "-p", "0", "--replicas", "1,2,3")
    assert "they are cordoned" in said
    told = "cordoned, without new replicas: 3 (odradek broker undrain 3)"
    assert told in odradek("broker", "list").err
    assert "is cordoned and empty" in odradek("broker", "drain", "3").err
    said = odradek.fails("broker", "drain", "4")
    assert "replication factor 3 needs 3 brokers" in said
    assert not status(odradek, "4")["cordoned"]
    odradek("broker", "undrain", "3")
    assert replicas(odradek, "orders") == [[3, 1, 2], [4, 3, 1]]
    assert not status(odradek, "3")["cordoned"]
    cluster.check_replicas_equal("orders")


def test_what_was_decided_since_stays_when_a_broker_gets_its_replicas_back(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """Another number of replicas; and others that were emptied too come back first."""
    cluster.place("narrow", [3, 1, 2])
    cluster.place("pair", [3, 4], **{"min.insync.replicas": "1"})
    odradek("broker", "drain", "3")
    odradek("partition", "reassign", "narrow", "-r", "2")
    narrow = replicas(odradek, "narrow")
    odradek("broker", "drain", "4")
    said = odradek("broker", "undrain", "3").err
    assert "narrow-0 had 3 replicas, and is to have 2 now: it stays where it is" in said
    assert "pair-0 had a replica on broker 4, which is cordoned: odradek broker undrain 4" in said
    odradek("broker", "undrain", "4")
    odradek("broker", "undrain", "3")
    assert (replicas(odradek, "narrow"), replicas(odradek, "pair")) == (narrow, [[3, 4]])


def test_a_reassignment_without_a_broker_is_of_internal_topics_too(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """Who stops that broker then lacks no replica; asked again, nothing is left to do."""
    cluster.place("orders", [3, 1, 2])
    odradek("consume", "orders", "-e", "-g", "readers")
    assert any(3 in row for row in replicas(odradek, "__consumer_offsets"))
    odradek("partition", "reassign", "--without", "3")
    for topic in ("orders", "__consumer_offsets"):
        assert not any(3 in row for row in replicas(odradek, topic))
    plan = ("partition", "reassign", "--without", "3", "--dry-run", "--json")
    assert odradek(*plan).json == []


def test_a_dead_broker_is_emptied_and_replaced(cluster: LiveCluster, odradek: Shell) -> None:
    """Nobody asks it; one under its number with empty disks takes its place."""
    cluster.place("orders", [3, 1, 2])
    odradek("produce", "orders", said=b"a\n")
    cluster.brokers[3].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    cluster.await_gone(3, "orders")

    def is_gone() -> bool:
        return not status(odradek, "3")["registered"]

    eventually(is_gone, what="broker 3 is not registered any more")
    elected = odradek.run("partition", "elect", "orders")
    why = "the preferred replica is not in sync and alive (PREFERRED_LEADER_NOT_AVAILABLE)"
    assert [row[3:] for row in elected.rows] == [[why]]
    assert elected.code == 1
    assert "is cordoned and empty" in odradek("broker", "drain", "3").err
    assert not any(3 in row for row in replicas(odradek, "orders"))
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="all is healthy")
    assert "is not registered" in odradek.fails("broker", "undrain", "3")
    for disk in cluster.brokers[3].directory.glob("disk-*"):
        disk.rename(disk.with_name(f"old-{disk.name}"))
    cluster.brokers[3].start()
    odradek("broker", "undrain", "3")
    assert replicas(odradek, "orders") == [[3, 1, 2]]


def test_a_sick_broker_leads_nothing(cluster: LiveCluster, odradek: Shell) -> None:
    """Its replicas stay in sync; `undrain` brings its leaderships back."""
    cluster.place("orders", [3, 1, 2], [3, 4, 1])
    assert odradek("broker", "demote", "3").out.startswith("broker 3 is the last of 2 more")
    assert replicas(odradek, "orders") == [[1, 2, 3], [4, 1, 3]]
    assert status(odradek, "3")["leaders"] == 0
    odradek("partition", "elect")
    assert status(odradek, "3")["leaders"] == 0
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="all is healthy")
    odradek("broker", "undrain", "3")
    assert [it for it, _ in cluster.partitions("orders").values()] == [3, 3]


def test_a_demotion_names_what_it_leaves_out_while_it_is_moved(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """The order of its replicas is the move's; afterwards the same call does the rest."""
    cluster.place("orders", [3, 1, 2], [3, 1, 2])
    fill(cluster, "orders", 6_000)
    slow = ("-p", "0", "--replicas", "3,1,4", "--throttle", "1K", "--no-wait")
    odradek("partition", "reassign", "orders", *slow)
    at = ("-b", odradek.bootstrap)
    demoted = odradek.run("broker", "demote", "3", *at)
    assert (demoted.code, demoted.out) == (1, DEMOTED_HALF)
    left_out, then = demoted.err.splitlines()
    assert left_out == "odradek: left out, being moved: orders-0"
    assert then == (
        f"  next: once `odradek {' '.join(at)} partition reassignments` lists none of them: "
        f"odradek {' '.join(at)} broker demote 3"
    )
    odradek("partition", "throttle", "none")
    eventually(lambda: not odradek("partition", "reassignments").rows, what="the move is over")
    assert odradek("broker", "demote", "3").err == ""
    assert replicas(odradek, "orders") == [[1, 4, 3], [1, 2, 3]]


def test_what_nobody_can_copy_is_named(cluster: LiveCluster, odradek: Shell) -> None:
    """All else moves away from a dead broker; where it comes back the same call ends well."""
    cluster.place("orders", [3, 1, 2], [1, 2, 3])
    cluster.place("lone", [3])
    cluster.place("half", [3, 4], **{"min.insync.replicas": "1"})
    cluster.brokers[4].stop()
    odradek("produce", "half", said=b"a\n")
    cluster.brokers[3].kill()
    cluster.brokers[4].start()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    cluster.await_gone(3, "orders")
    ended = odradek.run("broker", "drain", "3")
    assert ended.code == 1
    assert {row[0]: row[-1] for row in ended.rows} == {
        "orders-0": "done",
        "orders-1": "done",
        "half-0": "stays on 3: no leader: broker 3 is not registered",
        "lone-0": "stays on 3: no leader: broker 3 is not registered",
    }
    assert (
        "still has 2 replicas: half-0: no leader: broker 3 is not registered; lone-0" in ended.err
    )
    assert "odradek partition elect half --unclean and odradek topic delete lone" in ended.err
    assert not any(3 in row for row in replicas(odradek, "orders"))
    cluster.brokers[3].start()
    assert "is cordoned and empty" in odradek("broker", "drain", "3").err
    assert odradek("consume", "half", "-e").out == "a\n"


def test_a_broker_dies_while_it_is_emptied(cluster: LiveCluster, odradek: Shell) -> None:
    """The verb that waits ends, and says for what; the others have moved."""
    cluster.place("orders", [1, 2, 3])
    cluster.place("lone", [3], [3])
    fill(cluster, "lone", 6_000)
    killer = threading.Timer(4, cluster.brokers[3].kill)
    odradek.bootstrap = cluster.brokers[1].bootstrap
    killer.start()
    ended = odradek.run("broker", "drain", "3", "--throttle", "1K")
    killer.join()
    assert ended.code == 1
    states = {row[0]: row[-1] for row in ended.rows}
    assert states.pop("orders-0") == "done"
    assert states == dict.fromkeys(
        ("lone-0", "lone-1"), "stays on 3: no leader: broker 3 is not registered"
    )
    assert "still has 2 replicas: lone-0: no leader" in ended.err
    cluster.brokers[3].start()
    assert "is cordoned and empty" in odradek("broker", "drain", "3", "--throttle", "100M").err
    assert odradek("consume", "lone", "-e", "-f", "%o\n").out.count("\n") == 6_000


def test_an_undrain_on_another_machine_tells_of_moves_under_way(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """It has no plan to put back; they would go on, and the broker be emptied."""
    cluster.place("orders", [3, 1, 2], [3, 2, 1])
    fill(cluster, "orders", 6_000)
    odradek("broker", "drain", "3", "--throttle", "1K", "--no-wait")
    (plan,) = tmp_path.glob("state/odradek/reassignments/*-broker-3.json")
    plan.unlink()
    said = odradek("broker", "undrain", "3").err
    assert "2 replicas of broker 3 still being moved away" in said
    assert "odradek partition reassign orders --cancel keeps them there" in said
    odradek("partition", "reassign", "orders", "--cancel")
    assert replicas(odradek, "orders") == [[3, 1, 2], [3, 2, 1]]
    assert "still being moved" not in odradek("broker", "undrain", "3").err


def test_a_drain_that_is_called_again_takes_its_throttle(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """It goes on with what the first has begun, and takes away at the end what that has left."""
    cluster.place("orders", [3, 1, 2], [3, 2, 1])
    fill(cluster, "orders", 6_000)
    none_left = "throttle taken from 0 brokers, 0 topics\n"
    slow = ("broker", "drain", "3", "--throttle", "1K", "--no-wait")
    assert "the throttle stays" in odradek(*slow).err
    odradek("topic", "create", "meanwhile", "-p", "6", "-r", "3")
    assert not any(3 in row for row in replicas(odradek, "meanwhile"))
    told = odradek("broker", "drain", "3", "--throttle", "64M")
    assert "an earlier call moves 2 partitions already: it goes on" in told.err
    assert {row[-1] for row in told.rows} == {"done"}
    assert odradek("partition", "throttle", "none").out == none_left
    back = odradek("broker", "undrain", "3", "--throttle", "1K", "--no-wait")
    assert {row[-1] for row in back.rows} == {"begun"}
    odradek("partition", "throttle", "64M")
    odradek("broker", "undrain", "3")
    assert odradek("partition", "throttle", "none").out == none_left
    odradek(*slow)
    given_up = odradek("broker", "undrain", "3").err
    assert "their target is replaced" in given_up
    assert "until the moves are over" in given_up
    assert odradek("partition", "throttle", "none").out == none_left
    assert "broker 3 was not cordoned" in odradek("broker", "undrain", "3").err
    assert [it for it, _ in cluster.partitions("orders").values()] == [3, 3]
    assert replicas(odradek, "orders") == [[3, 1, 2], [3, 2, 1]]
    assert not list(tmp_path.glob("state/odradek/reassignments/*-broker-3.json"))


def test_a_number_that_never_was_is_refused(cluster: LiveCluster, odradek: Shell) -> None:
    """It was mistyped: the broker that was meant would be stopped with all that it has."""
    cluster.place("orders", [1, 2, 3])
    for call in (
        ("broker", "drain", "99"),
        ("broker", "drain", "99", "--status"),
        ("broker", "demote", "99"),
        ("broker", "undrain", "99"),
        ("partition", "reassign", "--without", "1,99"),
    ):
        said = odradek.fails(*call)
        assert "there is no broker 99, and it has no replica; brokers are 1, 2, 3, 4" in said
    assert odradek("broker", "list").err == ""  # none is cordoned
    odradek("broker", "drain", "4")
    odradek("broker", "undrain", "4")


def test_what_cannot_be_is_refused_with_the_next_step(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """In two lines, before anything is done, on a dry run as well."""
    cluster.place("orders", [1, 2, 3])
    cluster.place("wide", [1, 2, 3, 4])
    plan = tmp_path / "moves.json"
    row = {"topic": "orders", "partition": 0, "replicas": [1, 2, 9]}
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    move, zero = ("partition", "reassign", "orders"), ("--throttle", "0")
    elsewhere = ("there is no broker 9", "odradek broker list")
    nothing = ("nothing would be copied", "odradek partition throttle none")
    for call, why, next_step in (
        (
            ("broker", "drain", "3"),
            "replication factor 4 needs 4 brokers",
            "start another broker",
        ),
        (
            ("partition", "reassign", "--without", "3"),
            "replication factor 4 needs 4 brokers",
            "name more",
        ),
        ((*move, "--brokers", "1,2,9"), *elsewhere),
        ((*move, "--replicas", "1,2,9"), *elsewhere),
        ((*move, "--replicas", "1,2,9", "--dry-run"), *elsewhere),
        (("partition", "reassign", "--file", str(plan)), *elsewhere),
        ((*move, "--replicas", "1,2,4", *zero), *nothing),
        (("broker", "drain", "3", *zero), *nothing),
        (("broker", "undrain", "3", *zero), *nothing),
        (("logdirs", "move", "/disk", "orders", "--broker", "3", *zero), *nothing),
        (("partition", "throttle", "0"), *nothing),
        (("broker", "drain", "3", "--throttle", f"{1 << 63}"), "no broker counts so far", "20M"),
    ):
        said = odradek.fails(*call, code=2 if {"0", f"{1 << 63}"} & {*call} else 1)
        first, second = said.splitlines()
        assert why in first, (call, said)
        assert second.startswith("  next: "), (call, said)
        assert next_step in second, (call, said)
    assert odradek("partition", "reassignments").rows == []
    assert odradek("broker", "list").err == ""  # none is cordoned


def test_a_throttle_belongs_to_its_verb(cluster: LiveCluster, odradek: Shell) -> None:
    """Changed while it runs; one that is left behind is named, and taken away."""
    cluster.place("orders", [1, 2, 3], [1, 2, 3])
    fill(cluster, "orders", 6_000)  # more than one fetch brings
    slow = ("--throttle", "1K", "--no-wait")
    assert (
        "the throttle stays"
        in odradek("partition", "reassign", "orders", "--without", "3", *slow).err
    )
    named = odradek("partition", "reassignments").err
    assert "a throttle of 1.0 KiB/s is set on brokers 1, 2, 3, 4" in named
    assert odradek("partition", "throttle", "64M").out == "2 reassignments: 64.0 MiB/s\n"
    eventually(lambda: odradek("partition", "reassignments").rows == [])
    assert "throttle left" in odradek.run("cluster", "health").out
    told = odradek("partition", "reassign", "orders", "--replicas", "1,2,3").err
    assert "and bounds this move, too" in told
    assert "topic" in odradek("partition", "throttle", "none").out
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="all is healthy")
    assert "nothing to throttle" in odradek.fails("partition", "throttle", "5M")
    assert "throttled" not in odradek("config", "describe", "topic", "orders").out


def test_who_calls_a_drain_again_takes_the_throttle_that_its_first_call_left(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """All was moved meanwhile, so the second has nothing to move; so it is with an undrain."""
    cluster.place("orders", [3, 1, 2])
    none_left = "throttle taken from 0 brokers, 0 topics\n"
    for verb in ("drain", "undrain"):
        assert (
            "the throttle stays"
            in odradek("broker", verb, "3", "--throttle", "64M", "--no-wait").err
        )
        eventually(lambda: not odradek("partition", "reassignments").rows, what="all is moved")
        for number in cluster.brokers:
            rates = [f"{it}.replication.throttled.rate" for it in ("leader", "follower")]
            options = [word for it in rates for word in ("--delete", it)]
            odradek("config", "alter", "broker", str(number), *options)
        lists = "throttled replicas are named by topic orders"
        assert lists in odradek("partition", "reassignments").err
        assert lists in odradek.run("cluster", "health").out
        told = odradek("broker", verb, "3").err
        assert "the throttle that an earlier call left is taken from 0 brokers, 1 topic" in told
        assert odradek("partition", "throttle", "none").out == none_left
