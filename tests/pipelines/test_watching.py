"""What a long verb says while it works."""

from types import SimpleNamespace
from typing import Any

import pytest

from odradek.cli.spark import watching as cli
from odradek.cli.spark.watching import watched_by_person
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.moving import watching
from odradek.pipelines.moving.reports import Account, BatchReport
from odradek.pipelines.moving.watching import Watch
from odradek.pipelines.positions import Positions, TopicPositions
from odradek.pipelines.secrets import revealed


def at(offset: int) -> Positions:
    """One partition's."""
    return Positions("c", {"t": TopicPositions("", {0: offset})})


def test_the_line_of_a_verb() -> None:
    """Tasks and the time that is left; nothing where nothing is known."""
    done: Any = SimpleNamespace(tasks=(0, 0))
    watch = Watch(lambda: done.tasks, 100.0)
    assert not watch.line(130.0)
    done.tasks = (0, 40)
    assert watch.line(130.0) == "0 of 40 tasks done after 30 s"
    done.tasks = (10, 40)
    assert watch.line(130.0) == "10 of 40 tasks done after 30 s, about 1 min left"


def test_the_line_of_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rate and lag are those of all batches; what is waiting says how long it takes."""
    monkeypatch.setattr(watching, "monotonic", lambda: 110.0)
    watch = Watch(lambda: (1, 2), 100.0)
    account = Account(read=50_000, written=50_000)
    for end in 50_000, 100_000:
        report = BatchReport(1, 1, account, 1, at(0), at(end), at(7_300_000), {}, 10)
        watch.heard(report)
    assert watch.line(120.0) == (
        "1 of 2 tasks done after 10 s, 100,000 records read, 5,000 a second, lag 7,200,000, "
        "about 24 min left"
    )


class Tracked:
    """What is asked of a session: a stage of two tasks runs."""

    def __getattr__(self, name: str) -> Any:
        stage = SimpleNamespace(numCompletedTasks=0, numTasks=2)
        known = {"getActiveStageIds": [1], "getStageInfo": stage, "statusTracker": self}
        return self if name == "sparkContext" else lambda *_: known[name]


def test_a_log_has_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the marks of a terminal; a verb that is quick says nothing."""
    with watched_by_person(Tracked()):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(cli, "LOG_S", 0.01)
    said = ""
    with watched_by_person(Tracked()):
        while said.count("\n") < 2:
            said += capsys.readouterr().err
    assert set(said.splitlines()) == {"0 of 2 tasks done after 0 s"}


def test_secrets_stand_elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the environment or in a file; what is not there is named, and no secret is."""
    (tmp_path / "key").write_text("hush\n")
    monkeypatch.setenv("KEY_ID", "me")
    given = {"region": "x", "access_key_id": "${env:KEY_ID}"}
    secret = {"secret_access_key": f"${{file:{tmp_path}/key}}"}
    assert revealed(given | secret) == {
        "region": "x",
        "access_key_id": "me",
        "secret_access_key": "hush",
    }
    monkeypatch.delenv("KEY_ID")
    with pytest.raises(InvalidOption, match="'access_key_id': there is no KEY_ID"):
        revealed(given)
    (tmp_path / "key").unlink()
    with pytest.raises(InvalidOption, match=r"'secret_access_key': .*key cannot be read"):
        revealed(secret)
