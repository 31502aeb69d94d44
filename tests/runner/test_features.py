"""Programs and tests are made of the same dependencies: cargo compiles one again for every set of features."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

from suites import WORKSPACE

REPOSITORY = Path(__file__).resolve().parents[2]


def dependencies(*kinds: str) -> set[str]:
    """Each dependency of these kinds, with the features that it is compiled with."""
    words = ["cargo", "tree", *WORKSPACE, "--prefix", "none", "--edges", ",".join(kinds), "--format", "{p} {f}"]
    printed = subprocess.run(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.removesuffix(" (*)") for line in printed.splitlines()}


class Features(unittest.TestCase):
    def test_tests_ask_for_no_feature_of_a_dependency_that_programs_are_made_without(self) -> None:
        again = dependencies("normal", "build") - dependencies("normal", "build", "dev")
        self.assertFalse(again, "compiled a second time for tests: what tests ask for has to stand in tests/features/Cargo.toml too")


if __name__ == "__main__":
    unittest.main()
