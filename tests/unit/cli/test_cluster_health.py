"""What health tells, and what of it may last."""

import pytest

from odradek.cli.brokers import cluster_health
from odradek.cli.brokers.cluster import show_by_cause
from odradek.cli.brokers.cluster_health import DISK_FULL, DISK_NEARLY_FULL, lack_of_room
from odradek.cli.brokers.sick import Sick
from odradek.cli.replicas.throttle import Rates
from odradek.controller import health
from odradek.model.causes import CauseKind
from odradek.model.units import GIB, MIB
from tests.external import tools


def test_warnings_are_called_as_the_controller_calls_them() -> None:
    """One under another name would hold up every rolling restart."""
    ours = {health.CAPPED, health.DELETION_WAITS, health.REASSIGNMENT_WAITS}
    assert ours < cluster_health.WARNINGS
    grave = {health.NO_LEADER, health.OUT_OF_SYNC, health.BELOW_MIN_ISR, health.RECORDS_LOST}
    assert not grave & cluster_health.WARNINGS


@pytest.mark.parametrize(
    ("free", "problem"),
    [
        (10 * GIB, None),
        (10 * GIB - 1, DISK_NEARLY_FULL),
        (MIB, DISK_NEARLY_FULL),
        (MIB - 1, DISK_FULL),
        (0, DISK_FULL),
    ],
)
def test_a_disk_is_told_before_it_is_full_and_when_it_is(free: int, problem: str | None) -> None:
    """Full is what takes no batch of the usual maximum any more."""
    assert lack_of_room(free, 100 * GIB) == problem


def test_a_disk_that_is_nearly_full_holds_up_no_rolling_restart() -> None:
    """It may be so for weeks; one that is full refuses what a broker writes when it begins."""
    assert DISK_NEARLY_FULL in cluster_health.WARNINGS
    assert DISK_FULL not in cluster_health.WARNINGS


def test_alert_and_health_mean_the_same_by_nearly_full() -> None:
    """Who is woken by the one asks the other."""
    text = (tools.ROOT / "deploy" / "prometheus" / "alerts.yml").read_text()
    share = f"odradek_log_dir_free_bytes / odradek_log_dir_total_bytes < {cluster_health.FREE_MIN}"
    assert share in text


def test_alert_and_health_mean_the_same_by_too_many_open_files() -> None:
    """Who is woken by the one asks the other."""
    text = (tools.ROOT / "deploy" / "prometheus" / "alerts.yml").read_text()
    assert f"process_open_fds / process_max_fds > {cluster_health.FILES_SHARE}" in text
    assert cluster_health.FILES_MOSTLY_OPEN in cluster_health.WARNINGS


def test_alert_and_health_mean_the_same_by_often() -> None:
    """The alert counts each move twice: one broker is not the controller any more, another is."""
    text = (tools.ROOT / "deploy" / "prometheus" / "alerts.yml").read_text()
    assert cluster_health.OFTEN_WITHIN == 30 * 60_000
    assert f"activecontrollercount[30m])) > {2 * cluster_health.MOVES_MAX}" in text


def behind(broker: int, *leader: int, problem: str, where: dict[str, list[int]]) -> Sick:
    """As the controller tells of a replica."""
    return Sick("it is behind", problem, where, CauseKind.BEHIND, (broker, *leader))


def test_what_follows_from_a_silent_broker_has_that_for_its_cause() -> None:
    """One line for each effect, whichever of its followers and leaders says so; others stay."""
    out, apart = health.OUT_OF_SYNC, cluster_health.BROKERS_APART
    silence = Sick("connection refused", "no answer from broker 3")
    offline = Sick("the replica on broker 3 is offline", out, {"orders": [7]}, brokers=(3,))
    others = behind(1, 2, problem=out, where={"orders": [9]})
    of_silent = Sick("refused", apart, {"orders": [2]}, CauseKind.APART, (1,))
    found = cluster_health.by_silence(
        [
            behind(3, 1, problem=out, where={"orders": [0, 4]}),
            behind(2, 3, problem=out, where={"orders": [2], "x": [0]}),
            behind(3, problem=health.NO_LEADER, where={"orders": [5]}),
            others,
            offline,
            silence,
            Sick("refused", apart, {"orders": [2]}, CauseKind.APART, (3,)),
            of_silent,
        ],
        {3},
    )
    gone = "broker 3 does not answer"
    assert found == [
        Sick(gone, out, {"orders": [0, 2, 4], "x": [0]}, brokers=(3,)),
        Sick(gone, health.NO_LEADER, {"orders": [5]}, brokers=(3,)),
        others,
        offline,
        silence,
        of_silent,
    ]


def test_a_broker_that_is_gone_is_one_cause() -> None:
    """Clients may have heard of it a moment longer than the controller."""
    gone = Sick("broker 3 is not registered", health.OUT_OF_SYNC, {"orders": [0]})
    refused, other = (
        Sick("refused", f"no answer from broker {it}", brokers=(it,)) for it in (3, 2)
    )
    elsewhere = refused._replace(kind=CauseKind.ELSEWHERE)
    assert cluster_health.by_silence([gone, refused, other], {2, 3}) == [gone, other]
    assert cluster_health.by_silence([gone, elsewhere], {3}) == [gone, elsewhere]


def test_a_move_that_stands_names_the_throttle_of_its_brokers() -> None:
    """One of other brokers, or of the other kind of move, does not bound it."""
    move = Sick("it copies nothing", cluster_health.MOVE_STANDS, brokers=(2, 3))
    dirs = Sick("nothing has come", cluster_health.DIR_MOVE_STANDS, brokers=(3,))
    other = Sick("broker 3: /disks/a", "log dir offline", brokers=(3,))
    calls = "odradek partition throttle 50M, or odradek partition throttle none"
    rates = Rates(moves={1: 1, 2: 1_000}, log_dirs={3: 2_048})
    assert [cluster_health.bounded(it, rates).cause for it in (move, dirs, other)] == [
        f"it copies nothing; a throttle of 1000 B/s is set on broker 2: {calls}",
        f"nothing has come; a throttle between log dirs of 2.0 KiB/s is set on broker 3: {calls}",
        "broker 3: /disks/a",
    ]
    assert cluster_health.bounded(move, Rates({1: 1}, {3: 1})) == move


def test_the_first_controller_has_not_moved() -> None:
    """Nor do moves count that were before."""
    controllers = [{"since": it} for it in (10, 20, 30, 40)]
    assert cluster_health.moved_since(controllers, 0) == 3
    assert cluster_health.moved_since(controllers, 20) == 2
    assert cluster_health.moved_since([], 0) == 0


def test_numbers_of_partitions_fit_a_line_however_many_there_are() -> None:
    """The first runs of them, and how many more; programs are told all."""
    far_apart = range(0, 400, 2)
    it = Sick("why", "out of sync", {"orders": [*range(212), 300], "many": [*far_apart]})
    assert it.where == "413 (orders: 0-211 300, many: 0 2 4 6 8 10 12 14 and 192 more)"
    assert it.partitions["many"] == [*far_apart]
    assert Sick("why", "out of sync", {"one": [0, 2, 4]}).where == "3 (one: 0 2 4)"


def test_where_a_table_is_too_wide_a_cause_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What follows from it stands below."""
    gone = "broker 3 is not registered"
    rows = [
        (gone, "out of sync", "2 (orders: 0-1)"),
        ("broker 2: /disks/a", "log dir offline", "-"),
        (gone, "no leader", "1 (lone: 0)"),
    ]
    show_by_cause(rows)
    assert capsys.readouterr().out.splitlines() == [
        gone,
        "  out of sync: 2 (orders: 0-1)",
        "  no leader: 1 (lone: 0)",
        "broker 2: /disks/a",
        "  log dir offline",
    ]
