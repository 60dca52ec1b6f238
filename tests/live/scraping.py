"""What alerts read, scraped from live brokers as Prometheus would, and kept as it is."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections import defaultdict
from http.client import HTTPException
from math import inf
from pathlib import Path
from typing import Final, Self

from tests.external import tools
from tests.live.cluster import ClusterBroker, LiveCluster

RULES: Final = tools.ROOT / "deploy" / "prometheus" / "alerts.yml"
METRIC: Final = re.compile(r"\b(?:kafka|odradek|process)_[a-z_]+")
LINE: Final = re.compile(r"^([a-z_]+)(?:{(.*)})? (\S+)$", re.MULTILINE)
DIRECTORY: Final = re.compile(r'(?<=logdirectory=")[^"]*/broker-(\d+)/')
TIMEOUT_SECONDS: Final = 2
PATIENCE_SCRAPES: Final = 90
STALE: Final = "stale"


class Scraping:
    """Scrapes all brokers again and again; a series that a page no longer has becomes stale.

    with Scraping(cluster, every=10) as scraping:
        scraping.see(3)
        scraping.mark("fault")
    """

    def __init__(self, cluster: LiveCluster, every: float) -> None:
        self._cluster = cluster
        self._every = every
        self._wanted = set(METRIC.findall(RULES.read_text()))
        self._series: dict[str, dict[int, str]] = defaultdict(dict)
        self._count = 0
        self._marks: dict[str, int] = {}
        self._seen = threading.Condition()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def see(self, scrapes: int) -> None:
        """Returns when so many more are done."""
        with self._seen:
            wanted = self._count + scrapes
            self._seen.wait_for(lambda: self._count >= wanted)

    def see_until(
        self, metric: str, *, most: float | None = None, least: float | None = None
    ) -> None:
        """Returns once a scrape has a value within these in a series of the metric, or not 0."""

        def is_seen() -> bool:
            last = [it.get(self._count - 1) for key, it in self._series.items() if metric in key]
            found = [float(it) for it in last if it not in {None, STALE}]
            if most is None and least is None:
                return any(found)
            low, high = -inf if least is None else least, inf if most is None else most
            return any(low <= it <= high for it in found)

        with self._seen:
            last = self._count + PATIENCE_SCRAPES
            self._seen.wait_for(lambda: self._count > last or is_seen())
            assert is_seen(), f"{metric} was not seen"

    def mark(self, name: str) -> None:
        """The next scrape is the first after this."""
        with self._seen:
            self._marks[name] = self._count

    def keep(self, file: Path) -> None:
        """In promtool's notation, one series a line."""
        kept = {
            "marks": self._marks,
            "scrapes": self._count,
            "series": {key: _notation(it, self._count) for key, it in sorted(self._series.items())},
        }
        file.write_text(json.dumps(kept, indent=1) + "\n")

    def _run(self) -> None:
        while not self._over.wait(self._every):
            pages = {it: _page(it) for it in self._cluster.brokers.values()}
            with self._seen:
                self._note(pages)
                self._count += 1
                self._seen.notify_all()

    def _note(self, pages: dict[ClusterBroker, str | None]) -> None:
        for broker, page in pages.items():
            instance = f'instance="broker-{broker.number}:9644"'
            self._series[f'up{{job="odradek", {instance}}}'][self._count] = str(int(bool(page)))
            for name, labels, value in LINE.findall(page or ""):
                if name in self._wanted:
                    told = DIRECTORY.sub(
                        r"/broker-\1/", ", ".join(filter(None, (labels, instance)))
                    )
                    self._series[f"{name}{{{told}}}"][self._count] = _short(value)
        for values in self._series.values():
            if self._count not in values and values.get(self._count - 1, STALE) != STALE:
                values[self._count] = STALE


def _page(broker: ClusterBroker) -> str | None:
    try:
        with urllib.request.urlopen(
            f"http://{broker.pages}/metrics", timeout=TIMEOUT_SECONDS
        ) as answer:
            found: str = answer.read().decode()
    except (OSError, HTTPException):
        return None
    return found


def _notation(values: dict[int, str], scrapes: int) -> str:
    """`0x2` is three samples of 0, as promtool counts."""
    runs: list[tuple[str, int]] = []
    for value in (values.get(it, "_") for it in range(scrapes)):
        before, times = runs[-1] if runs else ("", 0)
        runs[len(runs) - (before == value) :] = [(value, times + 1 if before == value else 1)]
    return " ".join(_run_of(value, times) for value, times in runs)


def _run_of(value: str, times: int) -> str:
    if value == STALE or times == 1:
        return value
    return f"_x{times}" if value == "_" else f"{value}x{times - 1}"


def _short(value: str) -> str:
    return f"{float(value):.2f}" if 0 < float(value) < 1 else value.removesuffix(".0")
