"""Processes of every language follow the rules in a ZooKeeper of three servers, whatever happens to it, while they
check without end: no check fails, and none is lost."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import stored

HERE = Path(__file__).parent
FOLDER = "/config/ratelimit/rules"
PREFIX = "follow"
# Far more than the second within which changes are to be seen, for machines that are busy.
TIMEOUT = 60


def rule(name: str, limit: int) -> str:
    return json.dumps(
        {"rule_id": name, "algorithm": "fixed_window", "window_start": "first_request", "limit": limit, "window_size_seconds": 36000}
    )


class Servers:
    """Redis and ZooKeeper."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process
        self.urls = json.loads(process.stdout.readline())

    def order(self, *words: str) -> None:
        """Has something done to ZooKeeper."""
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer == {"done": True}, answer

    def put(self, name: str, limit: int, verb: str = "set") -> None:
        self.order(verb, f"{FOLDER}/{name}", rule(name, limit))


class Follower:
    """A process that checks without end, and prints every new limit of the rule `changing`."""

    def __init__(self, name: str, process: subprocess.Popen) -> None:
        self.name, self.process = name, process
        self.lines: Queue[str] = Queue()
        Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def until(self, beginning: str) -> str:
        while True:
            try:
                line = self.lines.get(timeout=TIMEOUT)
            except Empty:
                raise AssertionError(f"{self.name} did not say {beginning!r}: {self.process.poll()}") from None
            if line.startswith(beginning):
                return line

    def end(self) -> int:
        """How many checks were admitted in all."""
        self.process.stdin.close()
        admitted = int(self.until("admitted").split()[1])
        assert self.process.wait(TIMEOUT) == 0, f"{self.name} ended with {self.process.returncode}"
        return admitted


def commands() -> dict[str, list[str]]:
    python = [os.environ["SLUICEGATE_FLEET_PYTHON"], str(HERE / "follower.py")]
    node = Path(os.environ["SLUICEGATE_FLEET_NODE"]).with_name("follower.mjs")
    return {
        "Python blocking": [*python, "blocking"],
        "Python asyncio": [*python, "asyncio"],
        "Node": ["node", str(node)],
        "C": [os.environ["SLUICEGATE_FLEET_FOLLOWER"]],
    }


@contextmanager
def servers() -> Iterator[Servers]:
    command = [os.environ["SLUICEGATE_TEST_SERVERS"], "start", "redis", "zookeeper"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        # Leaving the block closes their standard input, and they end.
        yield Servers(process)


@contextmanager
def fleet(started: Servers) -> Iterator[list[Follower]]:
    source = f"zookeeper://{started.urls['zookeeper']}{FOLDER}"
    with ExitStack() as stack:
        followers = []
        for name, command in commands().items():
            process = subprocess.Popen(
                [*command, started.urls["redis"], source, PREFIX],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.kill)
            followers.append(Follower(name, stack.enter_context(process)))
        yield followers


class Rules(unittest.TestCase):
    def test_every_process_follows_and_no_count_is_lost(self) -> None:
        with servers() as started:
            started.put("counted", 1_000_000_000, "create")
            started.put("changing", 1, "create")
            with fleet(started) as followers:
                self.assert_followed(followers, 1)
                for number, (what, happen) in enumerate(self.events(started).items()):
                    with self.subTest(what):
                        happen()
                        started.put("changing", 100 + number)
                        self.assert_followed(followers, 100 + number)
                admitted = sum(follower.end() for follower in followers)
            [state] = [state for state in stored.states(started.urls["redis"], PREFIX) if state.rule == "counted"]
            self.assertEqual(state.count, admitted)
            print("admitted by all, while rules changed:", admitted)

    def events(self, started: Servers) -> dict:
        def restart(*indices: str) -> None:
            for index in indices:
                started.order("kill", index)
            for index in indices:
                started.order("restart", index)

        def thousand() -> None:
            for number in range(1000):
                started.put(f"r{number}", 5, "create")

        return {
            "a change": lambda: started.put("counted", 1_000_000_001),
            "a new rule": lambda: started.put("new", 5, "create"),
            "a rule that goes": lambda: started.order("delete", f"{FOLDER}/new"),
            "a bad znode": lambda: started.order("create", f"{FOLDER}/bad", "garbage"),
            "a rule that turns bad": lambda: started.order("set", f"{FOLDER}/counted", "garbage"),
            "every server killed in turn": lambda: [restart(index) for index in "012"],
            "all sessions expired": lambda: started.order("expire"),
            "all servers restarted": lambda: restart(*"012"),
            "a thousand rules": thousand,
        }

    def assert_followed(self, followers: list[Follower], limit: int) -> None:
        for follower in followers:
            follower.until(f"limit {limit}")


if __name__ == "__main__":
    unittest.main()
