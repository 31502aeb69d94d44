"""Processes in four languages, on one Cluster or in several regions."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Timer

import stored

HERE = Path(__file__).parent
# So long a whole run may take; a worker that hangs is ended.
TIMEOUT = 60


@dataclass(frozen=True)
class Report:
    """One check and its answer. The decision was made between `before` and `after`; times in microseconds."""

    target: int
    cost: int
    allowed: bool
    remaining: int
    retry_after: int
    reset_after: int
    before: int
    after: int


@dataclass(frozen=True)
class Plan:
    """What every worker does; see the README."""

    rules: list[dict]
    targets: list[tuple[str, str]]
    lanes: int
    rounds: int
    heavy: int
    pause_us: int


@dataclass(frozen=True)
class WorkerAnswers:
    """The answers one worker got: to its checks, and to a peek at each target when all workers were done."""

    name: str
    checks: list[Report]
    peeks: list[Report]


@contextmanager
def cluster() -> Iterator[str]:
    """The URL of a Cluster that is gone afterwards."""
    command = [os.environ["SLUICEGATE_TEST_SERVERS"], "start", "cluster"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as servers:
        url = json.loads(servers.stdout.readline())["cluster"]
        keep_in_charge(url)
        # Leaving the block closes their standard input, and they end.
        yield url


def keep_in_charge(url: str) -> None:
    """No node is taken for dead, and replaced, because the machine is busy."""
    for address in stored.nodes(url):
        with closing(stored.Server(address)) as node:
            node.ask("CONFIG", "SET", "cluster-node-timeout", str(TIMEOUT * 1000))


def workers() -> list[tuple[str, list[str]]]:
    """The name and the command of each worker; `run` names the programs it made."""
    python = [os.environ["SLUICEGATE_FLEET_PYTHON"], str(HERE / "worker.py")]
    node = ["node", os.environ["SLUICEGATE_FLEET_NODE"]]
    c = [os.environ["SLUICEGATE_FLEET_C"]]
    rust = [os.environ["SLUICEGATE_FLEET_RUST"]]
    return [
        ("Python blocking", [*python, "blocking"]),
        ("Python asyncio", [*python, "asyncio"]),
        ("Node 1", node),
        ("Node 2", node),
        ("C 1", c),
        ("C 2", c),
        ("Rust 1", rust),
        ("Rust 2", rust),
    ]


def in_each(regions: dict[str, str]) -> list[tuple[str, list[str], dict[str, str]]]:
    """A worker of each language in each region, which has its own view of all; Python's by turns blocking and asyncio."""
    every = dict(workers())
    placed = []
    for at, (region, seen) in enumerate(regions.items()):
        for name in (["Python blocking", "Python asyncio"][at % 2], "Node 1", "C 1", "Rust 1"):
            placed.append((f"{name} in {region}", every[name], {"FLEET_REGION": region, "FLEET_REGIONS": seen}))
    return placed


def hammer(url: str, prefix: str, plan: Plan, regions: dict[str, str] | None = None) -> list[WorkerAnswers]:
    """Lets all workers carry out a plan at once."""
    fleet = in_each(regions) if regions else [(*worker, {}) for worker in workers()]
    together = Barrier(len(fleet), timeout=TIMEOUT)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as rules, ThreadPoolExecutor(len(fleet)) as pool:
        json.dump(plan.rules, rules)
        rules.flush()
        numbers = map(str, (plan.lanes, plan.rounds, plan.heavy, plan.pause_us))
        names = (name for target in plan.targets for name in target)
        arguments = [url, rules.name, prefix, *numbers, *names]
        conducted = pool.map(lambda worker: conduct(worker[0], worker[1] + arguments, together, worker[2]), fleet)
        return list(conducted)


def conduct(name: str, command: list[str], together: Barrier, place: dict[str, str]) -> WorkerAnswers:
    """Runs one worker, which begins, and later peeks, when all others are as far."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **place}
    ) as worker:
        watchdog = Timer(TIMEOUT, worker.kill)
        watchdog.start()
        try:
            assert until(worker, "ready") == []
            go_on(worker, together)
            checks = until(worker, "done")
            go_on(worker, together)
            peeks = [report(line) for line in worker.stdout]
        except BaseException:
            # The others need not wait for this one.
            together.abort()
            worker.kill()
            raise
        finally:
            watchdog.cancel()
    assert worker.returncode == 0, f"{name} ended with status {worker.returncode}"
    return WorkerAnswers(name, checks, peeks)


def until(worker: subprocess.Popen, word: str) -> list[Report]:
    """What a worker reports before it says a word."""
    reports = []
    for line in worker.stdout:
        if line.strip() == word:
            return reports
        reports.append(report(line))
    raise AssertionError(f"{worker.args[0]} ended before it was {word}")


def go_on(worker: subprocess.Popen, together: Barrier) -> None:
    together.wait()
    worker.stdin.write("go\n")
    worker.stdin.flush()


def report(line: str) -> Report:
    target, cost, allowed, *others = map(int, line.split())
    return Report(target, cost, bool(allowed), *others)
