"""Processes of every language share every limit."""

from __future__ import annotations

import hmac
import math
import time
import unittest
from collections.abc import Callable

import bounds
import fleet
import stored
from fleet import Plan, Report, WorkerAnswers

KEYS = ["alice", "bob"]
LIMIT = 301
# That of the workers.
IDENTIFIER_SECRET = b"known to the whole fleet"
# So long a run may take; no unit of GCRA comes back meanwhile, and no window ends.
RUN_SECONDS = 90
LONG_WINDOWS = [86_400, 50_000]

# Each algorithm by the name of its rule.
ALGORITHMS = {
    "aligned": {"algorithm": "fixed_window"},
    "first_request": {"algorithm": "fixed_window", "window_start": "first_request"},
    "sliding_window": {"algorithm": "sliding_window"},
    # Its keys are secrets, which every language has to hide alike.
    "list": {"algorithm": "sliding_log", "identifier_type": "api_key"},
    "sorted_set": {"algorithm": "sliding_log", "structure": "sorted_set"},
    "buckets": {"algorithm": "sliding_buckets"},
    "gcra": {"algorithm": "gcra"},
    "uniform": {"algorithm": "uniform"},
    "decay": {"algorithm": "decay"},
}

SHORT_LIMIT = 20
SHORT_WINDOW_US = 3_000_000
RESOLUTION_US = 500_000
BURST = 5
FACTOR = 2.0

# For windows that pass: the bound of each rule, and the time it is about.
Bound = Callable[[list[Report], int, int], list[str]]
PASSING: dict[str, tuple[Bound, int]] = {
    "aligned": (bounds.aligned, SHORT_WINDOW_US),
    "first_request": (bounds.first_request, SHORT_WINDOW_US),
    "sliding_window": (bounds.sliding_window, SHORT_WINDOW_US),
    "list": (bounds.exact_log, SHORT_WINDOW_US),
    "sorted_set": (bounds.exact_log, SHORT_WINDOW_US),
    "buckets": (bounds.slots(RESOLUTION_US), SHORT_WINDOW_US),
    "gcra": (bounds.bucket(BURST), SHORT_WINDOW_US),
    "uniform": (bounds.bucket(1), SHORT_WINDOW_US),
    "decay": (bounds.fading(FACTOR), RESOLUTION_US),
}


def rules_for(window: float, resolution: float, limit: int, **more: object) -> list[dict]:
    """A rule per algorithm."""
    rules = []
    for name, fields in ALGORITHMS.items():
        rule = {"rule_id": name, "limit": limit, "window_size_seconds": window, **fields}
        if name == "decay":
            del rule["window_size_seconds"]
        if name in ("decay", "buckets"):
            rule["resolution_seconds"] = resolution
        if name == "gcra":
            rule |= more
        rules.append(rule)
    return rules


def long_window() -> int:
    """One that does not end during a run: aligned windows begin at multiples of their length."""
    now = time.time()
    return next(window for window in LONG_WINDOWS if window - now % window > RUN_SECONDS)


def stored_key(rule: str, key: str) -> str:
    """What a key is called on the server."""
    if "identifier_type" not in ALGORITHMS[rule]:
        return key
    return "%s" + hmac.digest(IDENTIFIER_SECRET, key.encode(), "sha256").hex()[:32]


def of_target(answers: list[WorkerAnswers], target: int) -> list[Report]:
    return [report for one in answers for report in one.checks if report.target == target]


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.url = cls.enterClassContext(fleet.cluster())

    def test_within_a_window_exactly_the_limit_is_admitted(self) -> None:
        window = long_window()
        rules = rules_for(window, window, LIMIT)
        targets = [(name, key) for name in ALGORITHMS for key in KEYS]
        plan = Plan(rules, targets, lanes=4, rounds=40, heavy=2, pause_us=10_000)
        began = time.monotonic()
        answers = fleet.hammer(self.url, "exhaust", plan)
        self.assertLess(time.monotonic() - began, RUN_SECONDS)
        for at, (rule, key) in enumerate(targets):
            with self.subTest(rule=rule, key=key):
                # Evenly spaced, units come one by one.
                most = 1 if rule == "uniform" else LIMIT
                reports = of_target(answers, at)
                self.assertEqual(bounds.cost(bounds.admitted(reports)), most)
                self.assert_sensible(reports)
                for one in answers:
                    self.assert_used_up(one.peeks[at])
        shares = {one.name: bounds.cost(bounds.admitted(one.checks)) for one in answers}
        print("units admitted:", ", ".join(f"{name} {units}" for name, units in shares.items()))
        self.assert_stored("exhaust", {target: self.units(target[0], window) for target in targets})

    def test_while_windows_pass_every_bound_holds(self) -> None:
        rules = rules_for(SHORT_WINDOW_US / 1e6, RESOLUTION_US / 1e6, SHORT_LIMIT, burst=BURST)
        targets = [(name, "carol") for name in PASSING]
        plan = Plan(rules, targets, lanes=2, rounds=400, heavy=0, pause_us=25_000)
        answers = fleet.hammer(self.url, "pass", plan)
        for at, (rule, _) in enumerate(targets):
            with self.subTest(rule=rule):
                reports = of_target(answers, at)
                self.assert_sensible(reports)
                bound, span = PASSING[rule]
                self.assertEqual(bound(reports, SHORT_LIMIT, span), [])

    def assert_sensible(self, reports: list[Report]) -> None:
        """What is admitted need not wait, and what is denied must."""
        for report in reports:
            self.assertEqual(report.allowed, report.retry_after == 0, report)

    def assert_used_up(self, peek: Report) -> None:
        self.assertEqual((peek.allowed, peek.remaining), (False, 0), peek)
        self.assertGreater(peek.retry_after, 0)
        self.assertGreater(peek.reset_after, 0)

    def units(self, rule: str, window: int) -> Callable[[float], int]:
        """How many units a stored count stands for. A debt leaks, by less than a unit during a run."""
        if rule in ("gcra", "uniform"):
            return lambda debt: math.ceil(debt * LIMIT / (window * 1_000_000))
        return round

    def assert_stored(self, prefix: str, expected: dict[tuple[str, str], Callable[[float], int]]) -> None:
        """One key per target, that counts what was admitted, and ends."""
        states = {(state.rule, state.key): state for state in stored.states(self.url, prefix)}
        expected = {(rule, stored_key(rule, key)): units for (rule, key), units in expected.items()}
        self.assertEqual(states.keys(), expected.keys())
        for target, state in states.items():
            with self.subTest(stored=state):
                self.assertEqual(expected[target](state.count), 1 if state.rule == "uniform" else LIMIT)
                self.assertGreater(state.ttl_ms, 0)


if __name__ == "__main__":
    unittest.main()
