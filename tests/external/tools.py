"""Programs from outside Python that we are compared with, and how they come onto the machine.

Each function here says where its tool is, or raises `Missing` with the reason. It installs what
is not there, if it may: `./dev test` allows it, a bare pytest does not. What Maven fetches goes to
`.cache`; what Debian has goes into the system, and only root can put it there. Two runs at once
install one after the other, and the second finds the work done.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
POM = ROOT / "tests" / "external" / "pom.xml"
SPARK_POM = ROOT / "tests" / "external" / "spark.xml"
DELTA_POM = ROOT / "tests" / "external" / "delta.xml"
AVRO_POM = ROOT / "tests" / "external" / "avro.xml"
CLIENTS_POM = ROOT / "tests" / "external" / "clients.xml"
COPIERS = ROOT / "tests" / "external" / "copiers"
FRANZ = ROOT / "tests" / "external" / "franz"
KAFKAJS = ROOT / "tests" / "external" / "kafkajs"
LIBRDKAFKA = ROOT / "tests" / "external" / "librdkafka"
LOG4J = ROOT / "tests" / "external" / "log4j.properties"
INSTALL_SECONDS_MAX = 300


class Missing(Exception):
    """The tool is not here and could not be installed; the text says why."""


def java() -> str:
    """The program that runs Java's programs."""
    return _program("java", package="default-jdk-headless")


def javac() -> str:
    """Java's compiler, for our own small programs around Kafka's classes."""
    return _program("javac", package="default-jdk-headless")


def kcat() -> str:
    """The command-line client on top of librdkafka."""
    return _program("kcat", package="kcat")


def promtool() -> str:
    """Prometheus' own tool, out of Debian's package: installed it would start a server."""
    found = CACHE / "promtool"
    with one_at_a_time():
        if not found.exists():
            return _find("promtool") or _unpack("prometheus", "usr/bin/promtool", found)
    return str(found)


def kafka_classpath() -> str:
    """The jars of `pom.xml`, as Java wants them named: Kafka's, and ZooKeeper's with them."""
    return _classpath(POM, "Kafka's Java programs")


def newest_clients() -> str:
    """The jars of `clients.xml`, as Java wants them named."""
    return _classpath(CLIENTS_POM, "Kafka's newest Java clients")


def spark_connector() -> str:
    """The jars of `spark.xml`, as `spark.jars` wants them named: Spark's own Kafka connector."""
    return _classpath(SPARK_POM, "Spark's Kafka connector").replace(":", ",")


def spark_delta() -> str:
    """The jars of `delta.xml`, as `spark.jars` wants them named: Delta's own runtime for Spark."""
    return _classpath(DELTA_POM, "Delta's runtime for Spark").replace(":", ",")


def spark_avro() -> str:
    """The jar of `avro.xml`, as `spark.jars` wants it named: Spark's own `from_avro`."""
    return _classpath(AVRO_POM, "Spark's Avro").replace(":", ",")


def franz() -> str:
    """Our small program around franz-go, the client of those who write Go."""
    return _built("franz", "build", "-modcacherw")


def franz_tests() -> str:
    """franz-go's own tests of its client, as one program: they lie beside the sources of it."""
    return _built(
        "franz-tests", "test", "-c", "-modcacherw", about=("github.com/twmb/franz-go/pkg/kgo",)
    )


def _built(name: str, *command: str, about: Sequence[str] = ()) -> str:
    go = _program("go", package="golang-go")
    sources = sorted(FRANZ.iterdir())
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    found = CACHE / f"{name}-{digest.hexdigest()[:16]}"
    with one_at_a_time():
        if not found.exists():
            _require_permission("franz-go")
            folders = {"GOMODCACHE": str(CACHE / "go"), "GOCACHE": str(CACHE / "go-build")}
            _run([go, *command, "-o", str(found), *about], "franz-go", cwd=FRANZ, **folders)
    return str(found)


def kafkajs() -> str:
    """Our small program around KafkaJS, the client of those who write JavaScript."""
    _program("node", package="nodejs")
    npm = _program("npm", package="npm")
    sources = sorted(KAFKAJS.iterdir())
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    folder = CACHE / f"kafkajs-{digest.hexdigest()[:16]}"
    with one_at_a_time():
        if not folder.exists():
            _require_permission("KafkaJS")
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(KAFKAJS, unfinished)
            _run([npm, "ci", "--ignore-scripts", "--no-audit"], "KafkaJS", cwd=unfinished)
            unfinished.rename(folder)
    return str(folder / "copier.js")


def librdkafka_tests() -> str:
    """Some of librdkafka's own tests, as one program: their sources lie in a client for Node.

    It runs in the directory in which it lies, beside the sources; `tests/external/librdkafka/make`
    says which tests they are.
    """
    npm, rapidjson = _program("npm", package="npm"), CACHE / "rapidjson"
    for name, package in (("g++", "g++"), ("make", "make")):
        _program(name, package=package)
    digest = hashlib.sha256(b"".join(it.read_bytes() for it in sorted(LIBRDKAFKA.iterdir())))
    folder = CACHE / f"librdkafka-{digest.hexdigest()[:16]}"
    with one_at_a_time():
        if not rapidjson.exists():
            _unpack("rapidjson-dev", "usr/include", rapidjson)
        if not folder.exists():
            _require_permission("librdkafka's tests")
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(LIBRDKAFKA, unfinished)
            _run([npm, "ci", "--ignore-scripts", "--no-audit"], "librdkafka", cwd=unfinished)
            made = unfinished / "node_modules/node-rdkafka/deps/librdkafka"
            about = {"CPPFLAGS": f"-isystem {rapidjson}"}
            for step in ("library", "tests"):
                _run(["sh", str(unfinished / "make"), step], "librdkafka", cwd=made, **about)
            made.rename(folder)
            shutil.rmtree(unfinished)
    return str(folder / "tests" / "test-runner")


def _classpath(pom: Path, what: str) -> str:
    java()
    # The name says for which versions and which tree it is the answer.
    digest = hashlib.sha256(pom.read_bytes() + bytes(ROOT)).hexdigest()
    found = CACHE / f"classpath-{digest[:16]}"
    with one_at_a_time():
        if not found.exists():
            _fetch_jars(pom, found, what)
    return found.read_text()


def _fetch_jars(pom: Path, found: Path, what: str) -> None:
    _require_permission(what)
    unfinished = found.with_suffix(".unfinished")
    options = ["--batch-mode", "--quiet", "--strict-checksums", f"--file={pom}"]
    goal = "org.apache.maven.plugins:maven-dependency-plugin:build-classpath"
    where = [f"-Dmaven.repo.local={CACHE / 'maven'}", f"-Dmdep.outputFile={unfinished}"]
    _run([_mvn(), *options, *where, "-DincludeScope=runtime", goal], what)
    unfinished.rename(found)


def _mvn() -> str:
    return _find("mvn") or _install("mvn", package="maven")


def _program(name: str, *, package: str) -> str:
    found = _find(name)
    if found is None:
        with one_at_a_time():
            found = _find(name) or _install(name, package=package)
    return found


def _find(name: str) -> str | None:
    return shutil.which(name)


def _install(name: str, *, package: str) -> str:
    _require_permission(name)
    apt = _find("apt-get")
    if apt is None or os.geteuid() != 0:
        raise Missing(f"{name}: not installed; ./dev test can do it only as root on Debian")
    _run([apt, "update", "-qq"], name)
    _run([apt, "install", "-qq", "--yes", "--no-install-recommends", package], name)
    found = _find(name)
    if found is None:
        raise Missing(f"{name}: not installed, though Debian's package {package} is")
    return found


def _unpack(package: str, program: str, found: Path) -> str:
    """One program of a package of Debian's, without installing it; nobody has to be root."""
    _require_permission(found.name)
    apt, dpkg = _find("apt-get"), _find("dpkg-deb")
    if apt is None or dpkg is None:
        raise Missing(f"{found.name}: not here; ./dev test can fetch it only on Debian")
    if os.geteuid() == 0:
        _run([apt, "update", "-qq"], found.name)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        _run([apt, "download", "-qq", package], found.name, cwd=Path(folder))
        (archive,) = Path(folder).glob("*.deb")
        _run([dpkg, "-x", str(archive), folder], found.name)
        (Path(folder) / program).replace(found)
    return str(found)


def _require_permission(tool: str) -> None:
    if os.environ.get("ODRADEK_INSTALL") != "yes":
        raise Missing(f"{tool}: not installed; ./dev test would do it")


def _run(command: Sequence[str], tool: str, cwd: Path | None = None, **variables: str) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=INSTALL_SECONDS_MAX,
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{tool}: not installed within {INSTALL_SECONDS_MAX} s") from error
    if done.returncode != 0:
        raise Missing(f"{tool}: not installed: {command[0]} said: {done.stdout[-1000:]}")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Holds off the other workers and runs on this tree while something is put into the cache."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "external.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


TOOLS: dict[str, Callable[[], str]] = {
    "franz": franz,
    "franz_tests": franz_tests,
    "java": java,
    "javac": javac,
    "kafka_classpath": kafka_classpath,
    "kafkajs": kafkajs,
    "kcat": kcat,
    "librdkafka_tests": librdkafka_tests,
    "newest_clients": newest_clients,
    "promtool": promtool,
    "spark_connector": spark_connector,
}
"""By the name of the fixture that a test asks with."""

_missing: dict[str, Missing] = {}


def provide(name: str) -> str:
    """Where the tool of this name is. What could not be had is not tried again by this process."""
    if name in _missing:
        raise _missing[name]
    try:
        return TOOLS[name]()
    except Missing as missing:
        _missing[name] = missing
        raise
