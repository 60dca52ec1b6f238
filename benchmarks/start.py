"""How long the command takes to begin, beside an interpreter that does nothing.

Whole processes, from outside: what a person waits for. The cases take turns, so that a machine
that is slower for a while is slower for all of them. `--version` should stay below 150 ms.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 20
SETTINGS = "log.dirs=/var/lib/odradek\n"
MAIN = "import sys; from odradek.cli import main; sys.argv[0] = 'odradek'; main()"
CASES = {
    "python -c pass": ["-c", "pass"],
    "import odradek": ["-c", "import odradek"],
    "odradek --version": ["-c", MAIN, "--version"],
    "odradek --help": ["-c", MAIN, "--help"],
    "odradek check FILE": ["-c", MAIN, "check"],
}


def measure(arguments: list[str]) -> float:
    """Milliseconds from the start of a process to its end."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1000


def main() -> None:
    """All cases in turn, several times; the first time warms the caches and does not count."""
    file = Path(__file__).with_name("start.properties")
    file.write_text(SETTINGS)
    times: dict[str, list[float]] = {name: [] for name in CASES}
    try:
        for turn in range(ROUNDS + 1):
            for name, arguments in CASES.items():
                rest = [str(file)] if arguments[-1] == "check" else []
                took = measure([*arguments, *rest])
                if turn:
                    times[name].append(took)
    finally:
        file.unlink()
    nothing = statistics.median(times["python -c pass"])
    print(f"{'':20} {'min':>8} {'median':>8} {'max':>8}   ms; median against `python -c pass`")
    for name, found in times.items():
        median = statistics.median(found)
        ratio = f"{median / nothing:.1f}x"
        print(f"{name:20} {min(found):8.1f} {median:8.1f} {max(found):8.1f}   {ratio}")


if __name__ == "__main__":
    main()
