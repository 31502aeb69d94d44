"""Clients of every language, which check all the time and say what they were told."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from history import Call, History, Lane, parsed
from limits import RULES

HERE = Path(__file__).parent
# Between two calls of a lane.
PAUSE_US = 20_000
# How many seconds a client may take to start, and to end.
PATIENCE = 120


def programs() -> dict[str, list[str]]:
    """The command of each client; `run` names the programs it made."""
    python = [os.environ["SLUICEGATE_CHAOS_PYTHON"], str(HERE / "worker.py")]
    return {
        "Python": [*python, "blocking"],
        "asyncio": [*python, "asyncio"],
        "Node": ["node", os.environ["SLUICEGATE_CHAOS_NODE"]],
        "C": [os.environ["SLUICEGATE_CHAOS_C"]],
        "Rust": [os.environ["SLUICEGATE_CHAOS_RUST"]],
    }


class Client:
    """One process, and what it has said."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self.lines: list[str] = []
        self.is_ready = False
        self.counts: list[int] | None = None
        # When each lane was last answered by a server.
        self.served: dict[str, int] = {}
        # Warnings of limiters about servers, and why a client ended.
        self.log = tempfile.TemporaryFile("w+")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.log}
        self.process = subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes)
        self.reader = Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "ready":
                self.is_ready = True
            elif words[0] == "done":
                self.counts = list(map(int, words[1:]))
            else:
                self.lines.append(line)
                if words[5] == "server":
                    self.served[words[0]] = int(words[3])

    def go_on(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def calls(self) -> list[Call]:
        # It may have been ended in the middle of its last line.
        return [parsed(self.name, line) for line in self.lines if line.endswith("\n")]

    def end(self) -> None:
        """By force, if it has not ended by itself: a call of it may hang."""
        if self.log.closed:
            return
        try:
            self.process.wait(PATIENCE if self.counts is None else 10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.returncode > 0:
            self.log.seek(0)
            print(f"{self.name} ended with status {self.process.returncode}: {self.log.read()[-2000:]}")
        self.log.close()


class Clients:
    def __init__(self, clients: list[Client], lanes: list[Lane]) -> None:
        self.clients = clients
        self.history = History(lanes)

    def wait_until_served(self, since: int, seconds: float) -> bool:
        """Whether a server has decided for every lane of every client."""
        end = time.monotonic() + seconds
        lanes = [str(lane) for lane in range(len(self.history.lanes))]
        while any(client.served.get(lane, -1) < since for client in self.clients for lane in lanes):
            if time.monotonic() > end or any(client.process.poll() is not None for client in self.clients):
                return False
            time.sleep(0.02)
        return True

    def start(self) -> None:
        end = time.monotonic() + PATIENCE
        while not all(client.is_ready for client in self.clients):
            assert time.monotonic() < end and all(client.process.poll() is None for client in self.clients), "a client did not start"
            time.sleep(0.02)
        for client in self.clients:
            client.go_on()

    def stop(self) -> History:
        for client in self.clients:
            if client.process.poll() is None:
                client.go_on()
        for client in self.clients:
            client.end()
            self.history.calls += client.calls()
            if client.counts is not None:
                self.history.counts[client.name] = client.counts
        return self.history


@contextmanager
def started(url: str, names: list[str], lanes: list[Lane], environment: dict[str, str] | None = None) -> Iterator[Clients]:
    """Clients that check until they are stopped, and are gone after the block."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as rules:
        json.dump(RULES, rules)
        rules.flush()
        words = [word for lane in lanes for word in (lane.rule, lane.key, str(lane.timeout_us))]
        arguments = [url, rules.name, "chaos", str(len(names)), str(PAUSE_US), *words]
        every = programs()
        clients = Clients([Client(name, every[name] + arguments, environment or {}) for name in names], lanes)
        try:
            clients.start()
            yield clients
        finally:
            for client in clients.clients:
                if client.process.poll() is None:
                    client.process.kill()
            for client in clients.clients:
                client.end()
