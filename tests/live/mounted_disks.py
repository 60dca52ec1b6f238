"""Disks that fail as real ones do: each is an ext4 file system of its own, on a loop device.

Only root can mount, and not in every container; `why_not` says so where it cannot be done.
"""

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final, Self

SHUTDOWN: Final = 0x8004587D  # EXT4_IOC_SHUTDOWN: every call fails from then on, with EIO
WITHOUT_LOG: Final = struct.pack("I", 2)
MEGABYTE: Final = 1 << 20


def why_not() -> str:
    """Why nothing can be mounted here; empty if it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    missing = [
        name for name in ("mkfs.ext4", "mount", "umount", "losetup") if shutil.which(name) is None
    ]
    if missing:
        return f"{missing[0]} is not installed"
    found = subprocess.run(["losetup", "--find"], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else f"no loop devices: {found.stderr.strip()}"


class MountedDisk:
    """One disk, mounted at `path`."""

    def __init__(self, path: Path, *, megabytes: int = 64, image: Path | None = None) -> None:
        self.path = path
        self._megabytes = megabytes
        self._image = image or path.with_name(f"{path.name}.image")
        self._mounts = 0
        self.is_broken = False

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True)
        self.insert()
        return self

    def __exit__(self, *error: object) -> None:
        self.pull()
        self._image.unlink()

    def insert(self) -> None:
        """A new disk, formatted and empty."""
        self._image.unlink(missing_ok=True)  # an older one lives on while somebody uses it
        with self._image.open("wb") as image:
            image.truncate(self._megabytes * MEGABYTE)
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self.is_broken = False
        self._attach()

    def _attach(self) -> None:
        """A full one refuses writes: blocks that are promised may be missing when it is synced."""
        self._mount("-o", "loop,nodelalloc", str(self._image))

    def freeze(self) -> None:
        """The file system lets nobody change it: whoever tries waits in the kernel."""
        _run("fsfreeze", "--freeze", str(self.path))

    def thaw(self) -> None:
        """They go on."""
        _run("fsfreeze", "--unfreeze", str(self.path))

    def pull(self) -> None:
        """Unmounted at once; files that are open stay open, and the directory is empty."""
        while self._mounts:
            _run("umount", "--lazy", str(self.path))
            self._mounts -= 1

    def unmount(self) -> None:
        """As an operator does before the disk is taken out; refused while a file of it is open."""
        _run("umount", str(self.path))
        self._mounts -= 1

    def break_down(self) -> None:
        """Every read that is not cached and every write fails, as of a disk that is gone."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, WITHOUT_LOG)
            self.is_broken = True
        finally:
            os.close(fd)

    def make_read_only(self) -> None:
        """As the kernel does by itself when it finds the file system damaged."""
        _run("mount", "-o", "remount,abort", str(self.path))

    def hide(self) -> None:
        """Something else is mounted over it, in which nothing can be made."""
        self._mount("-t", "tmpfs", "-o", "ro", "tmpfs")

    def fill(self, leaving: int = 0) -> None:
        """No more bytes are free than these, until the file `full` is deleted."""
        with (self.path / "full").open("wb", buffering=0) as file:
            for size in (MEGABYTE, 4_096, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue
            file.truncate(file.tell() - leaving)

    def _mount(self, *words: str) -> None:
        _run("mount", *words, str(self.path))
        self._mounts += 1


class DiskOnFrozenDevice(MountedDisk):
    """Its device hangs: the image lies in another file system, and that one is frozen."""

    def __init__(self, path: Path, *, megabytes: int = 64) -> None:
        self._below = MountedDisk(path.with_name(f"{path.name}.below"), megabytes=2 * megabytes)
        image = self._below.path / "image"
        super().__init__(path, megabytes=megabytes, image=image)

    def __enter__(self) -> Self:
        self._below.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._below.__exit__(*error)

    def freeze(self) -> None:
        """The device."""
        self._below.freeze()

    def thaw(self) -> None:
        """It goes on."""
        self._below.thaw()


class DiskOnSuspendedDevice(MountedDisk):
    """Its device hangs: it is one of the device mapper's, which is told to hold all requests."""

    def _attach(self) -> None:
        self._loop = _run("losetup", "--find", "--show", str(self._image))
        self._name = f"odradek-{os.getpid()}-{self.path.name}"
        sectors = self._megabytes * MEGABYTE // 512
        _run("dmsetup", "create", self._name, "--table", f"0 {sectors} linear {self._loop} 0")
        self._mount(f"/dev/mapper/{self._name}")

    def pull(self) -> None:
        """With the devices, as soon as nobody uses them."""
        super().pull()
        _run("dmsetup", "remove", "--deferred", self._name)
        _run("losetup", "--detach", self._loop)

    def freeze(self) -> None:
        """The device; the file system is not told."""
        _run("dmsetup", "suspend", "--nolockfs", "--noflush", self._name)

    def thaw(self) -> None:
        """It goes on."""
        _run("dmsetup", "resume", self._name)


def why_no_device_mapper() -> str:
    """Why no device can be made here; empty if one can."""
    if shutil.which("dmsetup") is None:
        return "dmsetup is not installed"
    done = subprocess.run(["dmsetup", "version"], capture_output=True, text=True, check=False)
    return f"no device mapper: {done.stderr.strip()}" if done.returncode else ""


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()
