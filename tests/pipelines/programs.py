"""Programs of Spark's that run beside a test: a master, a worker, a Spark Connect server."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.external.ports import free_port
from tests.external.zookeeper import die_with_parent

HOME = Path(pyspark.__file__).parent


@contextmanager
def java(log: Path, ready: str, *command: str) -> Iterator[str]:
    """A program of Spark's; gives the line that says that it is ready."""
    process = started(log, *command)
    try:
        yield line_of(log, ready, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def started(log: Path, *command: str) -> subprocess.Popen[bytes]:
    """A program of Spark's, in a process group of its own."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(log.parent / "work"),
    }
    with log.open("wb") as file:
        return subprocess.Popen(
            [str(HOME / "bin" / command[0]), *command[1:]],
            stdout=file,
            stderr=file,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
        )


def line_of(log: Path, ready: str, process: subprocess.Popen[bytes]) -> str:
    """Waits for what it says when it is ready."""
    while not (found := re.search(ready, log.read_text(errors="replace"))):
        assert process.poll() is None, log.read_text(errors="replace")[-2_000:]
        time.sleep(0.1)
    return found[0]


MASTER = ("spark-class", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1")


class Worker:
    """A worker of a standalone cluster, and whoever starts it again when it has died."""

    def __init__(self, folder: Path, master: str, cores: int) -> None:
        self._folder = folder
        self._command = (
            "spark-class", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
            "--cores", str(cores), "--memory", "1g", "--webui-port", "0", master,
        )  # fmt: skip
        self._life = 0
        folder.mkdir()
        self.start()

    def start(self) -> None:
        """A life, which the master knows of afterwards."""
        self._life += 1
        log = self._folder / f"{self._life}.log"
        self._process = started(log, *self._command)
        line_of(log, "Successfully registered", self._process)

    def kill(self) -> None:
        """With its executor and all that this has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The URL of a Spark Connect server with two slots."""
    port = free_port()
    confs = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    server = ("spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
    given = [it for pair in confs.items() for it in ("--conf", "=".join(pair))]
    ready = "Spark Connect server started"
    with java(folder / "server.log", ready, *server, "--master", "local[2]", *given):
        yield f"sc://127.0.0.1:{port}"
