"""One server that keeps what it counts in a file (`appendonly yes`), on a disk that becomes full."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time

from faults import Kind
from history import now
from servers import Server, wait_until
from single import Single

# A small disk that nobody but the server sees, and that ends with it.
MOUNT = "mkdir -p disk && mount -t tmpfs -o size=16m none disk"
UNSHARE = ["unshare", "--mount", "--map-root-user", "sh", "-c"]


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return subprocess.run([*UNSHARE, MOUNT], cwd=folder, stderr=subprocess.DEVNULL, check=False).returncode == 0
        except FileNotFoundError:
            return False


class Disk(Single):
    name = "one server with `appendonly yes`"

    def __init__(self) -> None:
        self.is_mounted = can_mount()
        launcher = [*UNSHARE, f'{MOUNT} && exec "$@"', "sh"] if self.is_mounted else ["sh", "-c", 'mkdir -p disk && exec "$@"', "sh"]
        self.server = Server("dir disk", "appendonly yes", "appendfsync everysec", launcher=launcher)

    @property
    def filler(self) -> str:
        """As the server sees it."""
        return f"/proc/{self.server.process.pid}/root{self.server.folder}/disk/filler"

    def fill(self) -> None:
        if not self.is_mounted:
            # Where nothing may be mounted: no file may grow.
            resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            return
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def empty(self) -> None:
        if self.is_mounted:
            subprocess.run(["rm", self.filler], check=True)
        else:
            resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def full(disk: Disk, seconds: float) -> int:
    disk.fill()
    time.sleep(seconds)
    disk.empty()
    # It tries once a second.
    wait_until("a file that is written", lambda: disk.server.info("persistence")["aof_last_write_status"] == "ok")
    return now()


KINDS = [Kind("full disk", full)]
