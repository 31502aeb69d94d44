"""Real Redis servers, that are killed, stopped and started again."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import stored

# Ports below those that systems give to outgoing connections; the bus of a Cluster lies as much higher.
FIRST_PORT, PORTS = 10_000, 10_000
# So many are tried: another process may take one first.
PORTS_TRIED = 5
# How many seconds a server may take for what it is to do, on a busy machine.
PATIENCE = 120
NOT_READY = (OSError, RuntimeError, ValueError)


def free_port() -> int:
    while True:
        port = FIRST_PORT + random.randrange(PORTS)
        if is_free(port) and is_free(port + PORTS):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    """Asks until it is so; a server that does not answer is asked again."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if is_so():
                return
        except NOT_READY:
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.005)


class Ended(Exception):
    """A server ended at once."""


class Server:
    """A process with a folder and a port of its own. Without persistence, unless its configuration says so."""

    def __init__(self, *config: str, is_sentinel: bool = False, launcher: Sequence[str] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sluicegate-chaos-"))
        program = os.environ.get("SLUICEGATE_REDIS_SERVER", "redis-server")
        self.command = [*launcher, program, "redis.conf", *(["--sentinel"] if is_sentinel else [])]
        self.config = ["bind 127.0.0.1", f'dir "{self.folder}"', *config]
        if not is_sentinel:
            self.config += ['save ""', "repl-diskless-sync-delay 0"]
        self.process: subprocess.Popen | None = None
        self.start_on_a_free_port()

    def start_on_a_free_port(self) -> None:
        for tried in range(1, PORTS_TRIED + 1):
            self.port = free_port()
            (self.folder / "redis.conf").write_text("\n".join([f"port {self.port}", *self.config]) + "\n")
            try:
                return self.start()
            except Ended:
                if tried == PORTS_TRIED:
                    raise

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def host_and_port(self) -> str:
        """As configuration has it."""
        return f"127.0.0.1 {self.port}"

    def start(self) -> None:
        with (self.folder / "output.log").open("ab") as log:
            # Signals stay as they are here: a file that may not grow is an error, and no end of the process.
            files = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.process = subprocess.Popen(self.command, cwd=self.folder, restore_signals=False, **files)
        wait_until(f"an answer of {self.address}", self.is_ready)

    def is_ready(self) -> bool:
        if self.process.poll() is not None:
            raise Ended((self.folder / "output.log").read_text()[-2000:])
        # If its port was taken, another one may answer.
        return self.ask("PING") == b"PONG" and self.info("server")["process_id"] == str(self.process.pid)

    def connection(self) -> stored.Server:
        return stored.Server(self.address)

    def ask(self, *words: str | bytes) -> object:
        with closing(self.connection()) as connection:
            return connection.ask(*words)

    def info(self, section: str) -> dict[str, str]:
        lines = self.ask("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    @property
    def is_running(self) -> bool:
        return self.process is not None

    def kill(self) -> None:
        """As a crash would, with `kill -9`."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        """As if its machine had frozen."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
