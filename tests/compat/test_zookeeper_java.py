"""ZooKeeper's own client, in Java: what it is told by our server is what a real one tells it."""

import re
import subprocess
from typing import NamedTuple

from odradek.ports import Address
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.zookeeper import RealZookeeper

MAIN = "org.apache.zookeeper.ZooKeeperMain"
SECONDS_MAX = 60

DIALOGUE = """
create /java x
create -s /java/s- y
create -e /java/mine z
create -c /java/container
create -t 60000 /java/timed
create /java
create /java/none/child
create /java/mine/child
get -s /java
get /java/none
ls -R /java
ls -s /java
set -v 0 /java new
set -v 0 /java late
stat /java
delete -v 7 /java
delete /java
create /other x
get -w /other
set /other y
set /other z
ls -w /other
create /other/child q
stat -w /other/later
create /other/later
addWatch -m PERSISTENT_RECURSIVE /java
create /java/child q
set /java third
delete /java/child
create /java/child q
removewatches /java
removewatches /java
set /java silent
addWatch -m PERSISTENT /other
create /other/more
set /other a
removewatches /other
addauth digest anna:secret
setAcl /java/child auth::cdrwa
getAcl -s /java/child
setAcl /java/child digest:anna:nonsense:r
setAcl /java/child nonsense:x:r
get /java/child
setquota -n 100 /java
listquota /java
delquota -n /java
sync /java
getEphemerals /java
getAllChildrenNumber /java
deleteall /java
ls /java
ls /other
quit
"""

# A node with watches of two modes by one session is left out: before 3.9 the later mode replaces
# the earlier one (ZOOKEEPER-4466), and ours has both.

CHANGING = (
    (r"0x[0-9a-f]+", "0x"),  # transactions and sessions
    (r"time = .*", "time"),
    (r" zxid: -?\d+", ""),  # of an event, since 3.9; a real server also counts what it refused
)


class Said(NamedTuple):
    """The three voices of the client, each in its order: they do not wait for each other."""

    answers: list[str]
    events: list[str]
    errors: list[str]


def talk(classpath: str, java: str, address: Address) -> Said:
    """What the command-line client says to the dialogue, without what differs each time."""
    server = f"{address[0]}:{address[1]}"
    done = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", "-cp", classpath, MAIN, "-server", server],
        input=DIALOGUE,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    lines = [line for line in _constant(done.stdout) if line not in {"", "WATCHER::"}]
    told = [line for line in lines if line.startswith("WatchedEvent")]
    events = [line for line in told if "state:Closed" not in line]  # it may end before it says so
    answers = [line for line in lines if line not in told and server not in line]
    log = re.compile(r"log4j|SLF4J|\d{4}-|\s+at ")
    return Said(answers, events, [line for line in _constant(done.stderr) if not log.match(line)])


def _constant(text: str) -> list[str]:
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text.splitlines()


def test_it_says_the_same_to_both_servers(
    java: str,
    kafka_classpath: str,
    real_zookeeper: RealZookeeper,
    our_zookeeper: OurZookeeper,
) -> None:
    """Command by command: answers, stats, errors, and the events of its watches."""
    real = talk(kafka_classpath, java, (real_zookeeper.host, real_zookeeper.port))
    ours = talk(kafka_classpath, java, our_zookeeper.address)
    assert min(map(len, real)) > 10, "the dialogue went as it was meant to"
    assert ours == real
