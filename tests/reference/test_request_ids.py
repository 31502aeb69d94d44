"""Request ids in the reference, from first principles."""

import unittest
from dataclasses import replace

from limiter import InvalidArgument, Item, Limiter
from random_histories import Dice
from scenarios.blocks.blocking import blocking, for_a
from scenarios.reservations.held import EVERY
from scenarios.script import BASE, S

ALICE = Item("api", "alice")


class RequestIds(unittest.TestCase):
    def test_a_history_with_repeats_is_one_without(self):
        """Every call of one limiter is sent again, once at once and once later; the other gets each call once."""
        for name in EVERY:
            for seed in range(8):
                with self.subTest(algorithm=name, seed=seed):
                    self.live(blocking(name, for_a(2, 2)), Dice(seed))

    def live(self, made: dict, dice: Dice) -> None:
        again, once = Limiter([made]), Limiter([made])
        now, sent = BASE, []
        for number in range(50):
            now += dice.below(2 * S)
            op = dice.one_of(("check", "check", "check", "charge", "refund"))
            item = replace(ALICE, cost=1 + dice.below(5))
            answer = getattr(once, op)(now, item)
            sent.append((op, item, f"id-{number}", answer))
            for op, item, request_id, answer in (sent[-1], sent[-1], dice.one_of(sent[-5:])):
                self.assertEqual(getattr(again, op)(now, item, request_id), answer)
            self.assertEqual(again.store.states, once.store.states)
            self.assertEqual(again.store.blocks, once.store.blocks)

    def test_another_call_is_refused_and_changes_nothing(self):
        limiter = Limiter([blocking("gcra", for_a(2))])
        limiter.check(BASE, ALICE, "a")
        before = limiter.store.copy()
        for op, item in (("check", replace(ALICE, cost=2)), ("charge", ALICE), ("refund", ALICE)):
            with self.assertRaises(InvalidArgument):
                getattr(limiter, op)(BASE, item, "a")
        self.assertEqual(limiter.store, before)


if __name__ == "__main__":
    unittest.main()
