"""What `pip install 'odradek[spark]'` gives somebody today: versions as pip chooses them, no pins.

`python3 tests/pipelines/fresh_install.py` makes an empty environment, installs the product there,
and runs every line of `docs/pipelines.md` and `docs/archives.md` in the order of the pages. It
needs nothing but Python, takes some minutes and 1.5 GB, and is no part of `./dev test`: what pip
chooses changes without a change here.
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTINGS: Final = """
broker.id=1
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs=log
offsets.topic.replication.factor=1
zookeeper.embedded.port=0
zookeeper.embedded.data.dir=zookeeper
admin.listener=
"""

Environment = Mapping[str, str]


def blocks(page: str, *languages: str) -> list[str]:
    """What stands between fences of these languages."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [it for language, it in BLOCK.findall(text) if language in languages]


def installed(folder: Path) -> Path:
    """An environment with the product and its extra; its `bin`."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, f"{ROOT}[spark]"], check=True)
    return python.parent


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


@contextmanager
def broker(line: str, folder: Path, environment: Environment, port: int) -> Iterator[None]:
    """By the line of the documents that starts one."""
    (folder / "server.properties").write_text(SETTINGS.format(port=port))
    process = subprocess.Popen(
        ["bash", "-c", f"exec {line}"], cwd=folder, env=environment, start_new_session=True
    )
    try:
        while True:
            assert process.poll() is None, (folder / "broker-1.log").read_text()[-2_000:]
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def typed(lines: str, folder: Path, environment: Environment) -> None:
    """Each line, as somebody reads it."""
    for line in lines.splitlines():
        started = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        print(f"{time.monotonic() - started:6.1f} s  {line}", flush=True)
        if done.returncode:
            sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")


def run(programs: Path, folder: Path) -> None:
    """Both pages."""
    port = free_port()
    environment = {
        "HOME": str(folder),
        "PATH": f"{programs}:{os.defpath}",
        "ODRADEK_BOOTSTRAP": f"127.0.0.1:{port}",
    }
    (file,) = blocks("pipelines.md", "toml")
    archives, telemetry = blocks("archives.md", "")
    serve, _, rest = telemetry.partition("\n")
    (folder / "archives").mkdir()
    address = environment["ODRADEK_BOOTSTRAP"]
    (folder / "orders.toml").write_text(file.replace("127.0.0.1:9092", address))
    with broker(serve, folder, environment, port):
        for lines in blocks("pipelines.md", "sh"):
            typed(lines, folder, environment)
        typed("odradek topic create orders-again --partitions 1", folder, environment)
        typed(archives, folder / "archives", environment)
        typed(rest, folder, environment)


def main() -> None:
    """Installs, then runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, help="keep the environment there")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and the broker with it
    with tempfile.TemporaryDirectory() as place:
        programs = installed(chosen.environment or Path(place) / "environment")
        subprocess.run([programs / "python", "-m", "pip", "freeze"], check=True)
        work = Path(place) / "work"
        work.mkdir()
        run(programs, work)


if __name__ == "__main__":
    main()
