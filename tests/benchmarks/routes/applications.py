"""Applications under test, each a process of its own, and the processor time that they take."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from load import LONGEST_WAIT, Load

# The bits by which Linux names the clock of all threads of a process: clock_getcpuclockid(3).
_CLOCK_OF_PROCESS = 2


class Application:
    """An application that runs. What it is, it reads from KIND; it listens on PORT, and may count on REDIS_URL."""

    def __init__(self, command: list[str], kind: str, folder: Path, redis: str) -> None:
        self._held = _port()
        port = self._held.getsockname()[1]
        words = {"port": str(port), "python": sys.executable}
        environment = {**os.environ, "KIND": kind, "PORT": str(port), "REDIS_URL": redis}
        self._process = subprocess.Popen([word.format(**words) for word in command], cwd=folder, env=environment)
        self._port = port

    def wait(self) -> None:
        """Waits until it answers."""
        end = time.monotonic() + LONGEST_WAIT
        while True:
            if self._process.poll() is not None:
                raise RuntimeError(f"{self._process.args!r} ended with status {self._process.returncode}")
            try:
                with self.loaded(1):
                    return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    @contextmanager
    def loaded(self, in_flight: int) -> Iterator[Load]:
        """Connections to it, which have each been used once. Servers close what is idle for some seconds."""
        load = Load(self._port, in_flight)
        try:
            load.run(0)
            yield load
        finally:
            load.close()

    def processor_time(self) -> float:
        """What the process and those that it started have taken so far, in seconds."""
        return sum(time.clock_gettime((~pid << 3) | _CLOCK_OF_PROCESS) for pid in _family(self._process.pid))

    def stop(self) -> None:
        """Ends the process."""
        self._held.close()
        self._process.terminate()
        try:
            self._process.wait(LONGEST_WAIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _family(pid: int) -> list[int]:
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
        with suppress(FileNotFoundError):
            for child in (task / "children").read_text().split():
                pids += _family(int(child))
    return pids


def _port() -> socket.socket:
    """A port that nobody else gets: bound, where servers, which reuse addresses, can still listen."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held
