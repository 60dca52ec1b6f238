"""Lines of a server that nobody takes: dropped and counted, never an error, never a wait."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from odradek.model.units import Bytes
from odradek.runtime.output import Output


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Its two ends."""
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            continue


def test_lines_that_fit_go_out_at_once(pipe: tuple[int, int]) -> None:
    """In their order, and nothing else."""
    output = Output(pipe[1])
    output.write("one\n")
    output.write("two\n")
    output.flush()
    assert os.read(pipe[0], 100) == b"one\ntwo\n"


def test_a_reader_that_does_not_read_is_not_waited_for(pipe: tuple[int, int]) -> None:
    """What waits is bounded; what is dropped is counted, and said when the reader goes on."""
    output = Output(pipe[1], pending_bytes_max=Bytes(64))
    for _ in range(10_000):
        output.write("0123456789abcde\n")
        output.flush()
    read = b""
    while b"could not be written" not in read:
        read += os.read(pipe[0], 1 << 16)
        output.flush()
    lines = read.decode().splitlines()
    lost = int(lines[-1].split()[0])
    assert lines[-1] == f"{lost} lines could not be written"
    assert len(lines) - 1 + lost == 10_000
    assert set(lines[:-1]) == {"0123456789abcde"}


def test_a_reader_that_is_gone_is_no_error(pipe: tuple[int, int]) -> None:
    """A broker does not end because the one who collects its log does."""
    os.close(pipe[0])
    output = Output(pipe[1])
    output.write("to nobody\n")
    output.flush()


def test_a_full_disk_is_no_error() -> None:
    """The broker goes on, and so do its lines once there is room."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    output = Output(descriptor)
    output.write("no room\n")
    output.flush()
    os.close(descriptor)


@pytest.mark.parametrize("closed", ["0", "1", "2", "0,1,2"])
def test_descriptors_that_were_closed_at_the_start_point_nowhere(closed: str) -> None:
    """A socket with the number of stderr would get the log, and the loop refuses such numbers."""
    code = (
        "import os\n"
        f"for closed in ({closed},): os.close(closed)\n"
        "from odradek.runtime.output import open_standard_streams, say\n"
        "open_standard_streams()\n"
        "reader, writer = os.pipe()\n"
        "say('anything')\n"
        "os._exit(0 if min(reader, writer) > 2 else 1)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert found.returncode == 0, found.stderr
