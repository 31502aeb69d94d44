"""Processes of every language in three regions share every limit."""

from __future__ import annotations

import json
import os
import subprocess
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import bounds
import fleet
from fleet import Plan, Report
from test_fleet import of_target

LIMIT, BURST = 300, 100
# How long what is lent may be used: the window.
LENT_SECONDS = 1
KEYS = ["alice", "bob", "carol"]
RULES = [{"rule_id": "shared", "limit": LIMIT, "window_size_seconds": 1, "burst": BURST, "global": {}}]
TARGETS = [("shared", key) for key in KEYS]
# What a region has while it is cut off.
PART = 1 / 3
# So many starts of an interval are tried.
STARTS = 200


class Servers:
    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process
        line = json.loads(process.stdout.readline())
        self.regions = {name: urls for name, urls in line.items() if name != "pids"}

    def tell(self, *words: str) -> None:
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer == {"done": True}, answer


@contextmanager
def started() -> Iterator[Servers]:
    command = [os.environ["SLUICEGATE_TEST_SERVERS"], "start", "regions"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Servers(process)
        process.stdin.close()


def excess(reports: list[Report], burst: float, per_second: float) -> float:
    """By how much more was surely admitted, in any interval, than a burst and what comes anew; below 0: nowhere."""
    charged = sorted(bounds.admitted(reports), key=lambda report: report.after)
    starts = sorted(report.before for report in charged)
    worst = -burst
    for start in starts[:: max(len(starts) // STARTS, 1)]:
        count = 0
        for report in charged:
            if report.before >= start:
                count += report.cost
                worst = max(worst, count - burst - per_second * (report.after - start) / 1e6)
    return worst


class Regions(unittest.TestCase):
    def test_together_they_stay_within_the_bound(self) -> None:
        with started() as servers:
            plan = Plan(RULES, TARGETS, lanes=1, rounds=400, heavy=0, pause_us=10_000)
            answers = fleet.hammer("", "connected", plan, servers.regions)
        for at, (_, key) in enumerate(TARGETS):
            with self.subTest(key=key):
                reports = of_target(answers, at)
                span = (max(report.after for report in reports) - min(report.before for report in reports)) / 1e6
                total = bounds.cost(bounds.admitted(reports))
                ideal = min(len(reports), BURST + LIMIT * span)
                print(f"{key}: {total} of {ideal:.0f} in {span:.1f} s")
                self.assertLessEqual(excess(reports, BURST + LIMIT * LENT_SECONDS, LIMIT), 0)
                self.assertGreater(total, 0.75 * ideal)

    def test_cut_off_and_killed_they_do_too(self) -> None:
        def disturb(servers: Servers) -> None:
            for pause, *words in [(2, "cut", "0"), (2, "heal", "0"), (1, "kill", "1"), (1, "restart", "1")]:
                time.sleep(pause)
                servers.tell(*words)

        with started() as servers:
            plan = Plan(RULES, TARGETS, lanes=1, rounds=700, heavy=0, pause_us=10_000)
            disturbing = Thread(target=disturb, args=[servers])
            disturbing.start()
            answers = fleet.hammer("", "cut", plan, servers.regions)
            disturbing.join()
        # Two regions are cut off from the third, by their parts; one that is restarted has forgotten all.
        more = 1 + 2 * PART
        for at, (_, key) in enumerate(TARGETS):
            with self.subTest(key=key):
                reports = of_target(answers, at)
                bound = BURST * (1 + more) + LIMIT * LENT_SECONDS
                self.assertLessEqual(excess(reports, bound, LIMIT * more), 0)
                self.assertTrue(reports[-1].after - reports[0].before > 6e6)


if __name__ == "__main__":
    unittest.main()
