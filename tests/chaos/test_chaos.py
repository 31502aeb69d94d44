"""Faults of real servers, under clients of every language at once. By night all of them, more than once; otherwise some."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import unittest
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import campaign
import checker
import cluster
import disk
import remote
import sentinel
import single
import surroundings
import table
from faults import Kind

BY_NIGHT = "SLUICEGATE_LONG_TESTS" in os.environ
by_night = unittest.skipUnless(BY_NIGHT, "by night")
PAGE = Path(__file__).resolve().parents[2] / "docs/operations/chaos.md"
MEASURED = re.compile(r"(<!-- measured -->\n).*(<!-- end -->\n)", re.S)
# Of the time that a machine with far more work than processors may add. What hangs takes longer.
LATE_US, BACK_US = (3_000_000, 15_000_000) if BY_NIGHT else (10_000_000, 30_000_000)
LANGUAGES = ["Python", "Node", "C", "Rust", *(["asyncio"] if BY_NIGHT else [])]
# How long a fault lasts that does not end by itself.
SECONDS = 3.0 if BY_NIGHT else 1.5
ROUNDS = 3 if BY_NIGHT else 1

# Told to end, it ends the servers and clients first.
signal.signal(signal.SIGTERM, signal.default_int_handler)


class Chaos(unittest.TestCase):
    rows: list[table.Row] = []

    @classmethod
    def tearDownClass(cls) -> None:
        measured = table.markdown(cls.rows)
        print(measured, flush=True)
        if BY_NIGHT:
            text = f"Measured on {date.today():%-d %B %Y}, the worst of {ROUNDS} rounds:\n\n{measured}\n"
            PAGE.write_text(MEASURED.sub(lambda found: found[1] + text + found[2], PAGE.read_text()))

    def assert_holds(self, servers: Callable[[], campaign.Servers], kinds: list[Kind]) -> None:
        kinds = [kind for kind in kinds if BY_NIGHT or kind.is_short]
        for _ in range(ROUNDS):
            with closing(servers()) as running:
                history = campaign.played(running, kinds, LANGUAGES, SECONDS)
            self.rows.extend(table.rows(running.name, history))
            self.assertEqual(checker.violations(history, LATE_US, BACK_US)[:10], [], history.faults)
            self.assertEqual([fault.name for fault in history.faults], [kind.name for kind in kinds])

    def test_one_server(self) -> None:
        self.assert_holds(single.Single, single.KINDS)

    def test_a_server_that_forgets_is_found_if_that_is_not_stated(self) -> None:
        with closing(single.Single()) as running:
            history = campaign.played(running, [Kind("restart empty", single.killed)], LANGUAGES[:2], SECONDS)
        self.assertTrue(any("went back" in one for one in checker.violations(history, LATE_US, BACK_US)))

    def test_behind_a_network(self) -> None:
        self.assert_holds(remote.Remote, remote.KINDS)

    def test_sentinel(self) -> None:
        self.assert_holds(sentinel.Sentinel, sentinel.KINDS)

    def test_cluster(self) -> None:
        self.assert_holds(cluster.Cluster, cluster.KINDS)

    @by_night
    def test_full_disk(self) -> None:
        self.assert_holds(disk.Disk, disk.KINDS)

    @by_night
    def test_machines_of_clients(self) -> None:
        self.assert_holds(surroundings.Surroundings, surroundings.KINDS)

    def test_a_clock_is_wrong_by_an_hour(self) -> None:
        """As clients see it that are said to have such a one."""
        with closing(surroundings.Surroundings()) as around:
            clocks = []
            for wrong_by in (0, surroundings.HOUR):
                around.set(wrong_by, surroundings.WELL)
                environment = {**os.environ, **around.environment}
                clocks.append(int(subprocess.run(["date", "+%s"], env=environment, capture_output=True, check=True).stdout))
        self.assertAlmostEqual(clocks[1] - clocks[0], surroundings.HOUR, delta=60)


if __name__ == "__main__":
    unittest.main()
