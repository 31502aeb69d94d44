"""Compares limits at routes of real applications over HTTP: `python3 tests/benchmarks/routes FILE...`.

A file lists groups of applications. Those of a group take turns in every round, with 1 and with 64 requests in flight. A figure is
the median of the rounds, a ratio the median of the ratios within each round. SLUICEGATE_TEST_SERVERS names the program that starts
Redis. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

from applications import Application
from comparing import against, beside
from figures import IN_FLIGHT, MANY, Results
from slices import Slice


def measured(applications: dict[str, Application], options: argparse.Namespace) -> Results:
    """Slices of all applications in turn, back and forth, when their code has been compiled that runs often."""
    for application in applications.values():
        slice_of(application, MANY, options.warm_up)
    results: Results = {name: {in_flight: [] for in_flight in IN_FLIGHT} for name in applications}
    for number in range(options.rounds):
        for in_flight in IN_FLIGHT:
            for name in reversed(applications) if number % 2 else applications:
                results[name][in_flight].append(slice_of(applications[name], in_flight, options.seconds))
    return results


def slice_of(application: Application, in_flight: int, seconds: float) -> Slice:
    """A part of an application's time."""
    with application.loaded(in_flight) as load:
        before = application.processor_time()
        requests, taken = load.run(seconds)
        return Slice(requests, taken, application.processor_time() - before)


def report(group: dict[str, Any], folder: Path, redis: str, options: argparse.Namespace) -> None:
    """Measures a group, and prints its table."""
    with ExitStack() as running:
        applications = {}
        for name, kind in group["applications"].items():
            applications[name] = Application(group["command"], kind, folder, redis)
            running.callback(applications[name].stop)
        for application in applications.values():
            application.wait()
        results = measured(applications, options)
    rows = beside(results, group["without"], group["bare"]) if "bare" in group else against(results, group["without"], group["theirs"])
    print(f"\n**{group['title']}**\n\n{rows}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="groups of applications, as JSON")
    parser.add_argument("--rounds", type=int, default=9, help="slices per application")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a slice")
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds of requests to each application before")
    parser.add_argument("--only", action="append", metavar="TITLE", help="groups whose title begins so; may be given several times")
    options = parser.parse_args()
    print(f"{date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run,", end=" ")
    print(f"{options.rounds} rounds of {options.seconds} s", flush=True)
    program = [os.environ["SLUICEGATE_TEST_SERVERS"], "start", "redis"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        redis = json.loads(server.stdout.readline())["redis"]
        for file in options.files:
            for group in json.loads(file.read_text()):
                if group["title"].startswith(tuple(options.only or [""])):
                    report(group, file.resolve().parent, redis, options)


if __name__ == "__main__":
    main()
