"""Every verb ends within its time-out, whatever stands where it asks, and says what, why and next.

All verbs at once: a broker that hangs, a machine that cannot be reached, another protocol.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.compat.calls import Ended, side_by_side
from tests.live.cluster import LiveCluster
from tests.live.secured import Secured, login
from tests.unit.cli.test_every_verb import CALLS, VERBS, arguments_of

SECONDS: Final = "4"  # where nothing comes
PATIENT: Final = "25"  # where something comes; two pass before another protocol is looked for
WITH_SPARK: Final = {"pipeline", "archive", "replay", "verify", "audit"}
"""Nouns that start Spark first; they have tests of their own."""
GATHERING: Final = {"doctor", "debug bundle"}
"""These tell what they find, whatever it is, and go on."""
ASKING: Final = [it for it in CALLS if it.split()[0] not in WITH_SPARK and it not in GATHERING]
FEW: Final = ("topic list", "produce", "consume", "cluster health", "broker drain")
READS_CONFIG: Final = {"kafka-console-producer", "kafka-producer-perf-test"}
SSH: Final = b"SSH-2.0-OpenSSH_9.6\r\n"


def calls_at(bootstrap: str, folder: Path, seconds: str = PATIENT) -> list[list[str]]:
    """All of them; scripts have no --timeout."""
    settings = folder / f"{seconds}.properties"
    settings.write_text(f"default.api.timeout.ms={seconds}000\n")
    found = []
    for name in ASKING:
        option = "--producer.config" if name in READS_CONFIG else "--command-config"
        limit = ["--timeout", seconds] if name in VERBS else [option, str(settings)]
        found.append([*name.split(), *arguments_of(name), *limit, "--bootstrap-server", bootstrap])
    return found


def few_at(bootstrap: str, *more: str) -> list[list[str]]:
    """Some of the verbs, for what does not depend on the verb."""
    common = ["--timeout", PATIENT, *more, "-b", bootstrap]
    return [[*name.split(), *arguments_of(name), *common] for name in FEW]


def told(ended: Ended) -> list[str]:
    """Its lines, without those that it says while it waits."""
    lines = ended.err.splitlines()
    return [it for it in lines if not it.endswith(" s at most") and "Processed a total" not in it]


def check_refused(ended: Sequence[Ended], says: str, code: int = 3) -> None:
    """Each has ended with two lines: what and why, and what to do next."""
    for each in ended:
        is_script = each.call[0].startswith("kafka-")
        assert each.code == (1 if is_script else code), each
        first, then = told(each)
        assert first.startswith("odradek: "), each
        assert says in first, each
        assert then.startswith("  next: "), each
        assert "Traceback" not in each.out, each


def check_ended(ended: Sequence[Ended]) -> None:
    """Each has ended by itself: done, or with a sentence."""
    for each in ended:
        assert each.code in {0, 1, 2, 3}, each
        assert "Traceback" not in each.err, each
        lines = told(each)
        assert each.code == 0 or each.out or lines, each
        if each.code == 3:  # what went before is progress
            assert lines[-2].startswith("odradek: "), each
            assert lines[-1].startswith("  next: "), each


@contextmanager
def full() -> Iterator[str]:
    """A port whose packets are dropped, as those of a machine that is away."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 - the socket's own signature
            waiting.connect_ex(listening.getsockname())
        yield "{}:{}".format(*listening.getsockname())


@contextmanager
def ssh() -> Iterator[str]:
    """A server that speaks first."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                with taken:
                    taken.sendall(SSH)

        threading.Thread(target=serve, daemon=True).start()
        yield "{}:{}".format(*listening.getsockname())
        listening.shutdown(socket.SHUT_RDWR)


def test_where_no_broker_can_be_asked(tmp_path: Path) -> None:
    """Another protocol is recognised, and a lack of TLS or of a name; a machine may be away."""
    secured = Secured(tmp_path / "secured")
    one = {"admin.listener": "127.0.0.1:@"}
    with ExitStack() as stack:
        cluster = stack.enter_context(LiveCluster(tmp_path / "cluster", 1, one))
        secured.start()
        stack.callback(secured.stop)
        away, speaking = stack.enter_context(full()), stack.enter_context(ssh())
        module = login("PLAIN", password="wrong")
        named = ["-X", "sasl.mechanism=PLAIN", "-X", f"sasl.jaas.config={module}"]
        named += ["-X", "security.protocol=SASL_PLAINTEXT"]
        tls = ("-X", "security.protocol=SSL")
        plain, away_too = secured.at("SASL_PLAINTEXT"), ("--connect", away, "--timeout", "2")
        groups = (
            (calls_at(away, tmp_path, SECONDS), f"gave up after {SECONDS} s: waiting for", 3),
            (calls_at(cluster.brokers[1].pages, tmp_path), "answers HTTP", 3),
            (calls_at(cluster.zookeeper.connect_string, tmp_path), "of a ZooKeeper server", 3),
            (calls_at(secured.at("SASL_SSL"), tmp_path), "speaks TLS, and was asked without", 3),
            (few_at(speaking), "of an SSH server", 3),
            (few_at(secured.bootstrap, *tls), "answers without TLS, and was asked in TLS", 3),
            (few_at(secured.at("SSL"), *tls), "the certificate is not believed", 3),
            ([it for it in few_at(plain) if it[0] != "produce"], "asks for a login (PLAIN,", 1),
            (
                few_at(plain, *named, "-X", "security.protocol=SASL_PLAINTEXT"),
                "Authentication f",
                1,
            ),
            ([["zookeeper", "raise-epochs", *away_too]], "ZooKeeper does not answer at", 3),
        )
        ended = iter(side_by_side([call for calls, _, _ in groups for call in calls], {}))
        for calls, says, code in groups:
            check_refused([next(ended) for _ in calls], says, code)


def test_while_brokers_hang(tmp_path: Path) -> None:
    """All but one stand still, the controller among them; and where only such a one is named."""
    with LiveCluster(tmp_path / "cluster", settings={"min.insync.replicas": "1"}) as cluster:
        cluster.make("x", 3)
        controller = cluster.controller()
        awake, *others = sorted(cluster.brokers, key=lambda it: it == controller)
        bootstrap = ",".join(cluster.brokers[it].bootstrap for it in (*others, awake))
        health = ["cluster", "health", "--timeout", "20", "-b", bootstrap]
        partly, hanging = (
            calls_at(it, tmp_path, SECONDS)
            for it in (bootstrap, cluster.brokers[others[-1]].bootstrap)
        )
        for number in others:
            cluster.brokers[number].pause()
        (sick,) = side_by_side([health], {})  # alone: it says within its time what it found
        ended = side_by_side([*partly, *hanging], {})
        for number in others:
            cluster.brokers[number].resume()
    assert sick.code == 1, sick
    assert all(f"broker {it}" in sick.out for it in others), sick
    check_ended(ended[: len(partly)])
    check_refused(ended[len(partly) :], f"gave up after {SECONDS} s: waiting for")
