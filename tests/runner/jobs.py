"""Runs jobs beside each other, each as soon as what it needs is there and its lane has room."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

# How many jobs of a lane run at once. Builds of one profile wait for each other's lock anyway.
LANES = {"debug": 1, "release": 1, "packages": 1, "tests": 3}
# Builds give way to tests, some of which look at the clock; not by far, as suites wait for what is built.
NICE = {"debug": 3, "release": 5, "packages": 0, "tests": 0}
# What is to end has so many seconds for it.
GRACE = 5


@dataclass(frozen=True)
class Counted:
    """How many tests passed, and how many failed."""

    passed: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Job:
    """A command, and how its output is counted; a step that counts no tests has no `count`."""

    name: str
    command: list[str]
    lane: str
    count: Callable[[str, int], Counted] | None = None
    after: tuple[str, ...] = ()
    # It is ended after so many seconds, and has failed.
    most: int = 600


@dataclass(frozen=True)
class Result:
    """How a job ended. `wrong` says why it failed where its count does not."""

    job: Job
    counted: Counted
    output: str = ""
    wrong: str = ""
    seconds: float = 0
    processor_seconds: float = 0


class Running:
    """A job that was started, in a group of processes of its own."""

    def __init__(self, job: Job, folder: Path, environment: dict[str, str]) -> None:
        self.job = job
        self.began = time.monotonic()
        self.told_to_end: float | None = None
        self.log = folder / job.name.replace(" ", "-")
        command = ["nice", "-n", str(NICE[job.lane]), *job.command]
        with self.log.open("wb") as output:
            # A group, and no session: between sessions `nice` has no effect where the scheduler groups by them.
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, process_group=0
            )

    def result(self) -> Result | None:
        """None while it runs. What takes too long is ended."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        seconds = time.monotonic() - self.began
        if pid == 0:
            if self.told_to_end is None and seconds > self.job.most:
                self.told_to_end = seconds
                self.signal(signal.SIGTERM)
            elif self.told_to_end is not None and seconds > self.told_to_end + GRACE:
                self.signal(signal.SIGKILL)
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        # What it left behind.
        self.signal(signal.SIGKILL)
        output = self.log.read_text(encoding="utf-8", errors="replace")
        counted = self.job.count(output, self.process.returncode) if self.job.count else Counted()
        wrong = self.wrong(counted)
        if wrong and counted.failed == 0:
            counted = Counted(counted.passed, 1)
        return Result(self.job, counted, output, wrong, seconds, usage.ru_utime + usage.ru_stime)

    def wrong(self, counted: Counted) -> str:
        if self.told_to_end is not None:
            return f"ended after {self.job.most} s"
        if self.process.returncode != 0:
            return f"exit status {self.process.returncode}"
        if self.job.count and counted.passed + counted.failed == 0:
            return "no test ran"
        return ""

    def signal(self, number: int) -> None:
        """To the whole group, which may be gone."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


def run(jobs: Iterable[Job], folder: Path, environment: dict[str, str], ended: Callable[[Result], None]) -> None:
    """Runs the jobs, the first of those that can run first, and hands over how each ended."""
    waiting, running, results = list(jobs), [], {}
    names = {job.name for job in waiting}

    def keep(result: Result) -> None:
        results[result.job.name] = result
        ended(result)

    try:
        while waiting or running:
            for job in list(waiting):
                needed = [name for name in job.after if name in names]
                if not all(name in results for name in needed):
                    continue
                lacking = [name for name in needed if results[name].counted.failed and results[name].job.lane != "tests"]
                if lacking:
                    waiting.remove(job)
                    keep(Result(job, Counted(0, 1), wrong=f"not run: {', '.join(lacking)} failed"))
                elif sum(other.job.lane == job.lane for other in running) < LANES[job.lane]:
                    waiting.remove(job)
                    running.append(Running(job, folder, environment))
            for job in list(running):
                if (result := job.result()) is not None:
                    running.remove(job)
                    keep(result)
            time.sleep(0.1)
    finally:
        for job in running:
            job.signal(signal.SIGKILL)
