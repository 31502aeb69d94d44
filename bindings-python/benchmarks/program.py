"""How the programs of benchmarks begin and speak: their options, in which conditions they ran, servers, tables in Markdown."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any


def options_of(description: str | None, rounds: int, seconds: float) -> argparse.Namespace:
    """The options of one that measures slices in turn; prints them with the conditions."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="slices of each kind")
    parser.add_argument("--seconds", type=float, default=seconds, help="length of a slice")
    options = parser.parse_args()
    conditions(f"{options.rounds} rounds of {options.seconds} s")
    return options


def conditions(what: str) -> None:
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "not known"
    print(f"{date.today()}, {os.cpu_count()} cores, load {load} before the run, {what}\n")


@contextmanager
def servers(*kinds: str) -> Iterator[dict[str, Any]]:
    """What the program of the test servers says of those it has started; they end with the block."""
    command = [os.environ["SLUICEGATE_TEST_SERVERS"], "start", *kinds]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield json.loads(process.stdout.readline())


def row(*cells: str) -> None:
    print("|", " | ".join(cells), "|", flush=True)


def head(*columns: str) -> None:
    row(*columns)
    print("|" + "---|" * len(columns))


def verdict(met: bool, target: float) -> str:
    return f"{target:,} {'met' if met else 'NOT MET'}"
