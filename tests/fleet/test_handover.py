"""What a process of one language reserved, processes of the others end."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from itertools import permutations
from pathlib import Path

import fleet

HERE = Path(__file__).parent
LIMIT = 100
RULE = {"rule_id": "held", "algorithm": "gcra", "limit": LIMIT, "window_size_seconds": 86_400, "reservations": True}


class Handover(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.url = cls.enterClassContext(fleet.cluster())
        rules = cls.enterClassContext(tempfile.NamedTemporaryFile("w", suffix=".json"))
        json.dump([RULE], rules)
        rules.flush()
        cls.rules = rules.name
        cls.holders = {
            "Python": [os.environ["SLUICEGATE_FLEET_PYTHON"], str(HERE / "holder.py")],
            "Node": ["node", str(Path(os.environ["SLUICEGATE_FLEET_NODE"]).with_name("holder.mjs"))],
            "C": [os.environ["SLUICEGATE_FLEET_HOLDER"]],
        }

    def ask(self, language: str, prefix: str, *call: object) -> str:
        command = [*self.holders[language], self.url, self.rules, prefix, *map(str, call)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=fleet.TIMEOUT)
        self.assertEqual(done.returncode, 0, f"{language}: {done.stderr}")
        return done.stdout.strip()

    def test_what_one_language_reserved_the_others_end(self) -> None:
        for first, second, third in permutations(self.holders):
            prefix = f"{first}-{second}-{third}".lower()
            with self.subTest(prefix):
                self.hand_over(prefix, first, second, third)

    def hand_over(self, prefix: str, first: str, second: str, third: str) -> None:
        used, unused = (self.ask(first, prefix, "reserve", 10) for _ in range(2))
        self.assertEqual(self.ask(third, prefix, "peek"), str(LIMIT - 20))
        self.assertEqual(self.ask(second, prefix, "renew", used), "1")
        self.assertEqual(self.ask(second, prefix, "commit", used, 4), "1")
        self.assertEqual(self.ask(third, prefix, "release", unused), "1")
        self.assertEqual(self.ask(first, prefix, "commit", used, 9), "0", "it had ended")
        # Nothing leaks back within a run: a unit takes a quarter of an hour.
        self.assertEqual(self.ask(first, prefix, "peek"), str(LIMIT - 4))


if __name__ == "__main__":
    unittest.main()
