"""Faults of real servers, under clients of every language at once. By night all of them, otherwise some."""

from __future__ import annotations

import os
import unittest
from contextlib import closing

import campaign
import checker
import single
from faults import Kind

BY_NIGHT = "SLUICEGATE_LONG_TESTS" in os.environ
# Of the time that a machine with far more work than processors may add. What hangs takes longer.
LATE_US, BACK_US = 10_000_000, 30_000_000
LANGUAGES = ["Python", "Node", "C", "Rust"]
SECONDS = 1.5


class Chaos(unittest.TestCase):
    def assert_holds(self, servers: campaign.Servers, kinds: list[Kind]) -> None:
        with closing(servers):
            history = campaign.played(servers, kinds, LANGUAGES, SECONDS)
        self.assertEqual(checker.violations(history, LATE_US, BACK_US), [])
        self.assertEqual([fault.name for fault in history.faults], [kind.name for kind in kinds])

    def test_one_server(self) -> None:
        self.assert_holds(single.Single(), single.KINDS)


if __name__ == "__main__":
    unittest.main()
