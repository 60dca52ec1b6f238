"""Alerts on what live brokers said of real faults: they come, and nothing else does.

The recordings in tests/samples/alerts are made by `python -m tests.live.record_alerts`. The last
scrape of a fault is repeated for as long as the slowest alert waits, and so is the last of all.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.house import tree
from tests.house.test_alerts import PROMETHEUS, alerts

RECORDINGS: Final = tree.ROOT / "tests" / "samples" / "alerts"
SCRAPE_SECONDS: Final = 10
HELD_SCRAPES: Final = 20 * 6
"""Twenty minutes: DeletionWaits waits for fifteen."""
QUIET_SCRAPES: Final = 35 * 6
"""Two alerts look back for half an hour."""
FIRING: Final = 'max by (alertname) (ALERTS{alertstate="firing"})'


class Expected(NamedTuple):
    """What fires while the fault lasts, and what has to have come by so many seconds after it."""

    lasting: frozenset[str]
    by: dict[str, int]


def expected(*lasting: str, **by: int) -> Expected:
    """Of one fault."""
    return Expected(frozenset(lasting), by)


GONE: Final = ("BrokerGone", "BrokerNotScraped")
EXPECTED: Final = {
    "broker-vanishes": expected(*GONE, "UnderReplicatedPartitions", BrokerGone=60),
    "all-brokers-gone": expected("BrokerNotScraped", "NothingScraped", NothingScraped=80),
    "no-leader": expected(*GONE, "OfflinePartitions"),
    "zookeeper-away": expected("BrokerNotScraped", "AbnormalControllerState"),
    "controller-moves-often": expected("ControllerMovesOften"),
    "under-min-isr": expected(*GONE, "UnderMinIsrPartitionCount", "UnderReplicatedPartitions"),
    "disk-fails": expected("OfflineLogDirectoryCount", "UnderReplicatedPartitions"),
    "disk-hangs": expected("OfflineLogDirectoryCount", "UnderReplicatedPartitions", DiskHangs=60),
    "disk-wears": expected("DiskWears"),
    "disk-fills-up": expected("DiskFillsUp", DiskFillsUp=36 * 60),
    "reassignment-waits": expected(*GONE, "ReassignmentWaits"),
    "certificate-ends": expected("CertificateEnded", CertificateEndsSoon=90),
    "unclean-election": expected(*GONE, "UnderReplicatedPartitions", UncleanElection=300),
    "controller-withheld": expected(
        "BrokerNotScraped", "AbnormalControllerState", "ControllerWithheld"
    ),
    "disk-nearly-full": expected("DiskNearlyFull"),
    "event-loop-busy": expected("EventLoopBusy"),
    "move-stands": expected("MoveStands"),
    "long-move": expected(),
    "deletion-waits": expected(*GONE, "DeletionWaits"),
    "many-files": expected("TooManyOpenFiles"),
    "group-behind": expected("ConsumerGroupLag"),
    "transaction-hangs": expected("TransactionsLate"),
    "rolling-restart": expected(),
}


class Recording(NamedTuple):
    """A fault from before to after, with its lasting part as long as alerts wait."""

    fault: int
    held: int
    end: int
    series: dict[str, list[str]]


def recording(file: Path) -> Recording:
    """All of its scrapes."""
    kept = json.loads(file.read_text())
    mended, scrapes = kept["marks"]["mended"], kept["scrapes"]
    series = {key: _lasting(list(_samples(it)), mended) for key, it in kept["series"].items()}
    held = mended + HELD_SCRAPES
    return Recording(kept["marks"]["fault"], held, scrapes + HELD_SCRAPES + QUIET_SCRAPES, series)


def _samples(runs: str) -> Iterator[str]:
    """`0x2` is three of them, `_x2` none for two scrapes."""
    for run in runs.split():
        value, _, more = run.partition("x")
        yield from [value] * (int(more or 0) + (value != "_" or not more))


def _lasting(samples: list[str], mended: int) -> list[str]:
    """With the last before the mending, and the last of all, again and again."""
    return [
        *samples[:mended],
        *[_again(samples[mended - 1])] * HELD_SCRAPES,
        *samples[mended:],
        *[_again(samples[-1])] * QUIET_SCRAPES,
    ]


def _again(sample: str) -> str:
    return "_" if sample == "stale" else sample


def test_every_alert_is_seen_with_its_fault() -> None:
    """A new one gets a recording."""
    seen = {it for one in EXPECTED.values() for it in (*one.lasting, *one.by)}
    assert seen == set(alerts())
    assert {it.stem for it in RECORDINGS.glob("*.json")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_alerts_on_a_recorded_fault(promtool: str, tmp_path: Path, name: str) -> None:
    """Nothing before, all that is expected while it lasts and nothing else, nothing after."""
    found = recording(RECORDINGS / f"{name}.json")
    wanted = EXPECTED[name]
    checks = [
        _fires((found.fault - 1) * SCRAPE_SECONDS, frozenset()),
        _fires((found.held - 1) * SCRAPE_SECONDS, wanted.lasting),
        _fires((found.end - 1) * SCRAPE_SECONDS, frozenset()),
    ]
    for alert, seconds in wanted.by.items():
        moment = (found.fault - 1) * SCRAPE_SECONDS + seconds
        of_it = FIRING.replace("{", f'{{alertname="{alert}", ')
        checks.append(_fires(moment, {alert}, of_it))
    if not wanted.lasting and not wanted.by:
        checks += [_fires(it * SCRAPE_SECONDS, frozenset()) for it in range(found.held)]
    _check(promtool, tmp_path, found, checks)


def _fires(second: int, which: frozenset[str] | set[str], expression: str = FIRING) -> Any:
    samples = [{"labels": f'{{alertname="{it}"}}', "value": 1} for it in sorted(which)]
    return {"expr": expression, "eval_time": f"{second}s", "exp_samples": samples}


def _check(promtool: str, folder: Path, found: Recording, checks: list[Any]) -> None:
    series = [{"series": key, "values": " ".join(it)} for key, it in found.series.items()]
    test = {
        "interval": f"{SCRAPE_SECONDS}s",
        "input_series": series,
        "promql_expr_test": checks,
    }
    file = folder / "recorded_test.yml"
    rules = [str(PROMETHEUS / "alerts.yml")]
    interval = f"{SCRAPE_SECONDS}s"
    file.write_text(
        json.dumps({"rule_files": rules, "evaluation_interval": interval, "tests": [test]})
    )
    done = subprocess.run(
        [promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
