"""How jobs are run: in which order, for how long, and what a failure means for others."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from pathlib import Path

import counts
from jobs import Counted, Job, Result, run


def shell(name: str, command: str, lane: str = "tests", after: tuple[str, ...] = (), most: int = 60) -> Job:
    return Job(name, ["sh", "-c", command], lane, counts.of_status if lane == "tests" else None, after, most)


class Jobs(unittest.TestCase):
    def results(self, *jobs: Job) -> dict[str, Result]:
        results: list[Result] = []
        with tempfile.TemporaryDirectory() as folder:
            run(jobs, Path(folder), dict(os.environ), results.append)
        return {result.job.name: result for result in results}

    def test_one_that_hangs_is_ended_with_all_that_it_started_and_has_failed(self) -> None:
        result = self.results(shell("hangs", "trap '' TERM; sleep 60 & echo $!; wait; sleep 60", most=1))["hangs"]
        self.assertEqual((result.counted, result.wrong), (Counted(0, 1), "ended after 1 s"))
        child = Path(f"/proc/{result.output.strip()}/stat")
        end = time.monotonic() + 10
        while child.exists() and child.read_text().split()[2] != "Z":
            self.assertLess(time.monotonic(), end)

    def test_who_needs_what_was_not_built_is_not_run(self) -> None:
        results = self.results(shell("tests", "true", after=("build",)), shell("build", "exit 3", "debug"))
        self.assertEqual(results["build"].wrong, "exit status 3")
        self.assertEqual((results["tests"].counted, results["tests"].wrong), (Counted(0, 1), "not run: build failed"))

    def test_tests_run_beside_each_other_and_builds_do_not(self) -> None:
        # Each of two tests waits for the other; of two builds, neither may see the other.
        meet = "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done"
        alone = "mkdir lock && sleep 0.2 && rmdir lock"
        with tempfile.TemporaryDirectory() as place:
            inside = f"cd {place} && "
            results = self.results(
                shell("a", inside + meet.format("a", "b")),
                shell("b", inside + meet.format("b", "a")),
                shell("c", inside + alone, "debug"),
                shell("d", inside + alone, "debug"),
            )
        self.assertEqual([result.wrong for result in results.values()], [""] * 4)

    def test_a_suite_without_a_test_has_failed(self) -> None:
        result = self.results(Job("empty", ["true"], "tests", counts.of_cargo))["empty"]
        self.assertEqual((result.counted, result.wrong), (Counted(0, 1), "no test ran"))


class Counts(unittest.TestCase):
    def test_each_kind_of_summary(self) -> None:
        cargo = "test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n"
        self.assertEqual(counts.of_cargo(cargo, 101), Counted(4, 2))
        self.assertEqual(counts.of_unittest("Ran 5 tests in 1s\n\nFAILED (failures=1, errors=1, skipped=2)\n", 1), Counted(3, 2))
        self.assertEqual(counts.of_runner("1 passed, 1 failed\n7 passed, 0 failed\n", 0), Counted(7, 0))


if __name__ == "__main__":
    unittest.main()
