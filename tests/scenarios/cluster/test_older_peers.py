"""A peer that does not know the version of our requests closes the connection, as Kafka does."""

import pytest
from structlog.testing import capture_logs

from odradek.broker import apis
from odradek.broker.handlers import fetch
from odradek.sim.scenarios.cluster import ClusterScenario


def test_a_leader_that_hangs_up_at_our_fetches_is_named_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its followers are never in sync, and their operator hears which setting is wrong."""
    older = fetch.API._replace(versions=range(4, 13))
    monkeypatch.setattr(apis, "OFFERED", {**apis.OFFERED, older.key: older})
    with ClusterScenario() as t, capture_logs() as events:
        operator = t.operator()
        operator.places("orders", (1, 2))
        t.run(seconds=60)
    told = [it for it in events if it["event"] == "fetcher.refused"]
    assert [(it["log_level"], it["leader"]) for it in told] == [("warning", 1)]
    assert "inter.broker.protocol.version" in told[0]["hint"]


def test_a_leader_that_dies_is_not_taken_for_an_older_one() -> None:
    """It closes connections that it has answered, and then there is none."""
    with ClusterScenario() as t, capture_logs() as events:
        operator = t.operator()
        operator.places("orders", (1, 2, 3))
        for number in (1, 2, 3):
            t.broker(number).kill()
            t.run(seconds=1)
            t.broker(number).start()
            t.await_isr("orders", 1, 2, 3)
    assert not [it for it in events if it["event"] == "fetcher.refused"]
