"""The reference from first principles: run with `python3 -m unittest discover -s tests/reference`."""

import json
import os
import unittest
from fractions import Fraction

import allotments
from limiter import Item, Limiter
from limiter.search import first_wait
from make_vectors import VECTORS, main
from player import FairPlay, UnfairVector, vector
from random_histories import Dice
from scenarios import FILES
from scenarios.script import BASE, S, Scenario, check, rule, yes
from strict import faults

RULES = {
    "fixed_window": rule("fixed_window", 7, 1),
    "first_request": rule("fixed_window", 7, 1, window_start="first_request"),
    "sliding_window": rule("sliding_window", 7, 1),
    "sliding_log": rule("sliding_log", 7, 1),
    "sliding_buckets": rule("sliding_buckets", 7, 1, resolution_seconds=0.3),
    "gcra": rule("gcra", 7, 1, burst=9),
    "uniform": rule("uniform", 7, 1),
    "decay": rule("decay", 7, resolution_seconds=0.2, decay_factor=1.5),
    "two_limits": rule(
        "sliding_window",
        limits=[{"limit": 3, "window_size_seconds": 0.1}, {"limit": 7, "window_size_seconds": 1}],
    ),
}


def busy_limiter(made: dict, seed: int):
    """A limiter with a random past, the present, and a random cost."""
    dice = Dice(seed)
    limiter, now = Limiter([made]), BASE + dice.below(S)
    for _ in range(12):
        limiter.check(now, Item("api", "alice", 1 + dice.below(3)))
        now += dice.below(200_000)
    return limiter, now, 1 + dice.below(7)


class Properties(unittest.TestCase):
    def each_past(self):
        return (busy_limiter(made, seed) for made in RULES.values() for seed in range(20))

    def test_a_wait_is_exact(self):
        for limiter, now, cost in self.each_past():
            wait = limiter.peek(now, Item("api", "alice", cost)).retry_after
            if wait in ("never", 0):
                continue
            self.assertFalse(limiter.check(now + wait - 1, Item("api", "alice", cost)).allowed)
            self.assertTrue(limiter.check(now + wait, Item("api", "alice", cost)).allowed)

    def test_remaining_is_exact(self):
        for limiter, now, _ in self.each_past():
            left = limiter.peek(now, Item("api", "alice")).remaining
            self.assertFalse(limiter.peek(now, Item("api", "alice", left + 1)).allowed)
            if left:
                decision = limiter.check(now, Item("api", "alice", left))
                self.assertTrue(decision.allowed)
                self.assertEqual(decision.remaining, 0)

    def test_reset_is_exact(self):
        for limiter, now, _ in self.each_past():
            wait = limiter.peek(now, Item("api", "alice")).reset_after
            self.assertEqual(limiter.peek(now + wait, Item("api", "alice")).reset_after, 0)
            if wait:
                self.assertEqual(limiter.peek(now + wait - 1, Item("api", "alice")).reset_after, 1)

    def test_a_denial_changes_nothing(self):
        for limiter, now, cost in self.each_past():
            before = limiter.store.copy()
            if not limiter.check(now, Item("api", "alice", cost)).allowed:
                self.assertEqual(limiter.store, before)

    def test_a_refund_undoes_a_check(self):
        for limiter, now, cost in self.each_past():
            before = limiter.peek(now, Item("api", "alice"))
            if limiter.check(now, Item("api", "alice", cost)).allowed:
                after = limiter.refund(now, Item("api", "alice", cost))
                self.assertEqual(after.remaining, before.remaining)

    def test_the_log_never_holds_more_than_its_limit_in_any_window(self):
        limiter, dice, now, times = Limiter([RULES["sliding_log"]]), Dice(1), BASE, []
        for _ in range(300):
            now += dice.below(150_000)
            if limiter.check(now, Item("api", "alice")).allowed:
                times.append(now)
        self.assertTrue(all(later - earlier >= S for earlier, later in zip(times, times[7:])))


class Tools(unittest.TestCase):
    def test_first_wait_finds_every_edge(self):
        for edge in range(70):
            self.assertEqual(first_wait(edge.__le__), edge)

    def test_dice_are_splitmix64(self):
        dice = Dice(1234567)
        self.assertEqual(dice.below(2**64), 6457827717110365317)

    def test_a_wrong_answer_by_hand_is_found(self):
        with self.assertRaisesRegex(UnfairVector, "remaining is 4 by hand"):
            vector(Scenario("a/b", "", [rule("gcra", 4, 4)], [check(0, 1, yes(4, S))]))

    def test_an_error_nobody_meant_is_found(self):
        with self.assertRaisesRegex(UnfairVector, "was not meant"):
            vector(Scenario("a/b", "", [rule("gcra", 4, 4)], [check(0, 0)]))

    def test_a_history_that_shows_when_old_entries_are_deleted_is_unfair(self):
        limiters = FairPlay([rule("sliding_log", 4, 4)])
        limiters.play(check(0, 3).call)
        limiters.play(check(5 * S, 1).call)
        with self.assertRaises(UnfairVector):
            limiters.play(check(3 * S, 1).call)

    def test_a_decay_on_the_edge_of_doubles_is_unfair(self):
        thirds = [rule("decay", 10, resolution_seconds=1, decay_factor=3)]
        limiters = FairPlay(thirds)
        limiters.play(check(0, 9).call)
        with self.assertRaises(UnfairVector):
            limiters.play(check(1 * S, 1).call)

    def test_numbers_are_the_decimals_that_were_written(self):
        limiter = Limiter([rule("gcra", 3, 0.1)])
        limiter.check(BASE, Item("api", "alice"))
        (state,) = limiter.store.states.values()
        self.assertEqual(state.debt, Fraction(100_000, 3))


class Files(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("SLUICEGATE_LONG_TESTS"), "random histories take a minute: `tests/run nightly` makes them")
    def test_the_files_on_disk_are_what_the_reference_makes(self):
        self.assertEqual(main(["--check"]), 0)

    def test_so_are_the_scenarios_of_each(self):
        for name, (description, scenarios) in FILES.items():
            on_disk = json.loads((VECTORS / f"{name}.json").read_text())
            self.assertEqual(on_disk["description"], description)
            self.assertEqual(on_disk["vectors"][: len(scenarios)], [vector(scenario) for scenario in scenarios], name)

    def test_so_are_those_of_allotments(self):
        for name, content in allotments.files().items():
            self.assertEqual(json.loads((VECTORS / f"{name}.json").read_text()), content, name)


class Strictness(unittest.TestCase):
    SCHEMA = {
        "type": "object",
        "additionalProperties": False,
        "required": ["n"],
        "properties": {
            "n": {"type": "integer", "minimum": 0},
            "w": {"oneOf": [{"const": "never"}, {"type": "integer"}]},
        },
    }

    def count(self, value) -> int:
        return len(faults(value, self.SCHEMA, self.SCHEMA))

    def test_good(self):
        self.assertEqual(self.count({"n": 0}), 0)
        self.assertEqual(self.count({"n": 0, "w": "never"}), 0)

    def test_bad(self):
        for value in ([], {}, {"n": -1}, {"n": 1.5}, {"n": True}, {"n": 0, "x": 1}, {"n": 0, "w": "soon"}):
            with self.subTest(value=value):
                self.assertGreater(self.count(value), 0)


if __name__ == "__main__":
    unittest.main()
