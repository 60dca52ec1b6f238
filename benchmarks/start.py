"""How long people wait: for the command, for a broker, and for the first record.

Whole processes, from outside. The cases take turns, so that a machine that is slower for a while is
slower for all of them. The bars, on a quiet machine: `--help` and `--version` below 100 ms, `topic
list` below 200 ms, from `odradek up` to the first record that kcat reads below 1 s.
"""

import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROUNDS = 20
STARTS = 5
MAIN = "import sys; from odradek.cli import main; sys.argv[0] = 'odradek'; main()"
BROKER = "BROKER"  # stands for the address of the one that runs meanwhile
CASES = {
    "python -c pass": ["-c", "pass"],
    "import odradek": ["-c", "import odradek"],
    "odradek --version": ["-c", MAIN, "--version"],
    "odradek --help": ["-c", MAIN, "--help"],
    "odradek check FILE": ["-c", MAIN, "check", "--settings-only", "FILE"],
    "odradek topic list": ["-c", MAIN, "topic", "list", "-b", BROKER],
    "kafka-topics --list": ["-c", MAIN, "kafka-topics", "--list", "--bootstrap-server", BROKER],
}
SETTINGS = "log.dirs=/var/lib/odradek\n"


def measure(arguments: list[str]) -> float:
    """Milliseconds from the start of a process to its end."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1000


@contextmanager
def up(folder: Path) -> Iterator[str]:
    """`odradek up`; where it listens, as soon as it says so."""
    command = [sys.executable, "-u", "-c", MAIN, "up", "--fresh"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if found := re.match(r"started: one broker at (\S+),", line):
                yield found[1]
                return
        raise AssertionError(f"it did not start: {''.join(said)}")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def to_the_first_record(folder: Path) -> tuple[float, float]:
    """Milliseconds from `odradek up` on an empty directory: to "started", to a record read."""
    begun = time.perf_counter()
    with up(folder) as address:
        started = time.perf_counter()
        kcat = ["kcat", "-q", "-b", address, "-t", "numbers"]
        subprocess.run([*kcat, "-P"], input=b"1\n", check=True)
        consume = [*kcat, "-C", "-c", "1", "-X", "topic.metadata.refresh.fast.interval.ms=10"]
        done = subprocess.run(consume, check=True, capture_output=True)
        assert done.stdout == b"1\n"
        ended = time.perf_counter()
    return (started - begun) * 1000, (ended - begun) * 1000


def main() -> None:
    """All cases in turn, several times; the first time warms the caches and does not count."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "start.properties"
        file.write_text(SETTINGS)
        with up(folder) as address:
            named = {BROKER: address, "FILE": str(file)}
            for turn in range(ROUNDS + 1):
                for case, arguments in CASES.items():
                    took = measure([named.get(word, word) for word in arguments])
                    if turn:
                        times[case].append(took)
        if shutil.which("kcat"):
            both = [to_the_first_record(folder) for _ in range(STARTS)]
            times["odradek up: started"] = [started for started, _ in both]
            times["odradek up: record"] = [read for _, read in both]
    nothing = statistics.median(times["python -c pass"])
    print(f"{'':20} {'min':>8} {'median':>8} {'max':>8}   ms; median against `python -c pass`")
    for name, found in times.items():
        median = statistics.median(found)
        ratio = f"{median / nothing:.1f}x"
        print(f"{name:20} {min(found):8.1f} {median:8.1f} {max(found):8.1f}   {ratio}")


if __name__ == "__main__":
    main()
