"""A Redis server that is killed, started again, or says nothing."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path


class Server:
    """A Redis server of one test."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._folder = folder
        self.url = f"redis://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        options = {"port": self._port, "bind": "127.0.0.1", "save": "", "dir": self._folder}
        words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        self._process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            return self.command("PING") == b"+PONG\r\n"
        except ConnectionError:
            return False

    def command(self, line: str) -> bytes:
        with socket.create_connection(("127.0.0.1", self._port), 5) as connection:
            connection.sendall(f"{line}\r\n".encode())
            return connection.recv(100)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)
