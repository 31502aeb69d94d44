"""Blocks and stored limits in the reference, from first principles."""

import unittest
from dataclasses import replace
from fractions import Fraction

from limiter import InvalidArgument, Item, Limiter
from random_histories import Dice
from scenarios.blocks.blocking import BY_HAND, blocking, for_a
from scenarios.reservations.held import EVERY
from scenarios.script import BASE, S
from scenarios.stored_limits.overriding import ALL, overriding

ALICE = Item("api", "alice")


def without(made: dict, *fields: str) -> dict:
    return {name: value for name, value in made.items() if name not in fields}


class Blocks(unittest.TestCase):
    def each_life(self, block: dict):
        """A limiter in the middle of a random life, and the present."""
        for name in EVERY:
            for seed in range(10):
                with self.subTest(algorithm=name, seed=seed):
                    dice, limiter, now = Dice(seed), Limiter([blocking(name, block)]), BASE
                    for _ in range(25):
                        now += dice.below(4 * S)
                        limiter.check(now, replace(ALICE, cost=1 + dice.below(4)))
                    yield limiter, now

    def test_a_wait_is_exact(self):
        blocked = 0
        for limiter, now in self.each_life(for_a(3, 2)):
            for cost in (1, 4, 10):
                item = replace(ALICE, cost=cost)
                decision = limiter.peek(now, item)
                blocked += decision.blocked
                self.assertTrue(limiter.peek(now + decision.retry_after, item).allowed)
                if decision.retry_after:
                    self.assertFalse(limiter.peek(now + decision.retry_after - 1, item).allowed)
        self.assertGreater(blocked, 50)

    def test_only_denials_of_the_limit_make_a_difference(self):
        """A key that nobody denies lives as one of a rule without blocks."""
        for name in EVERY:
            dice, now = Dice(1), BASE
            made = blocking(name, for_a(3))
            limiter, plain = Limiter([made]), Limiter([without(made, "block")])
            for _ in range(60):
                now += dice.below(2 * S)
                cost = min(1 + dice.below(4), limiter.peek(now, ALICE).remaining)
                if cost:
                    item = replace(ALICE, cost=cost)
                    self.assertEqual(limiter.check(now, item), plain.check(now, item))

    def test_a_blocked_check_leaves_everything_as_it_is(self):
        for limiter, now in self.each_life(BY_HAND):
            limiter.block(now, ALICE, Fraction(5))
            before = limiter.store.copy()
            for later in (0, 1, 5 * S - 1):
                self.assertTrue(limiter.check(now + later, ALICE).blocked)
            self.assertEqual(limiter.store, before)

    def test_a_block_lasts_no_longer_than_max_seconds(self):
        for limiter, now in self.each_life(for_a(2, 3, 11)):
            ends = []
            for _ in range(8):
                decision = limiter.check(now, replace(ALICE, cost=11))
                ends.append(limiter.peek(now, ALICE).retry_after)
                now += ends[-1]
            self.assertEqual(ends[-1], 11 * S)
            self.assertEqual(decision.retry_after, "never")

    def test_a_block_too_long_is_refused(self):
        limiter = Limiter([blocking("gcra", BY_HAND)])
        for seconds in (0, -1, 2**53):
            with self.assertRaises(InvalidArgument):
                limiter.block(BASE, ALICE, Fraction(seconds))
        self.assertTrue(limiter.peek(BASE, ALICE).allowed)


class StoredLimits(unittest.TestCase):
    def test_a_stored_limit_decides_as_that_of_the_call_would(self):
        """All calls of one limiter bring their limit, for the other one it is stored."""
        for name in ALL:
            for seed in range(6):
                with self.subTest(algorithm=name, seed=seed):
                    self.live(overriding(name), Dice(seed))

    def live(self, made: dict, dice: Dice) -> None:
        brought, stored = Limiter([without(made, "overrides")]), Limiter([made])
        now, limit = BASE, None
        for _ in range(60):
            now += dice.below(2 * S)
            if dice.below(6) == 0:
                limit = dice.one_of((None, 3, 5, 20, 40))
                if limit is None:
                    stored.clear_limit(now, ALICE)
                else:
                    stored.set_limit(now, replace(ALICE, limit=limit))
            item = replace(ALICE, cost=1 + dice.below(5))
            op = dice.one_of(("check", "check", "check", "charge", "refund", "peek"))
            bringing = replace(item, limit=limit)
            self.assertEqual(getattr(brought, op)(now, bringing), getattr(stored, op)(now, item))

    def test_an_expiry_is_a_clearing(self):
        for name in ALL:
            dice = Dice(7)
            expiring, cleared = Limiter([overriding(name)]), Limiter([overriding(name)])
            expiring.set_limit(BASE, replace(ALICE, limit=4), Fraction(10))
            cleared.set_limit(BASE, replace(ALICE, limit=4))
            for at in range(20):
                if at == 10:
                    self.assertTrue(cleared.clear_limit(BASE + at * S, ALICE))
                item = replace(ALICE, cost=1 + dice.below(2))
                now = BASE + at * S
                self.assertEqual(expiring.check(now, item), cleared.check(now, item))
            self.assertFalse(expiring.clear_limit(BASE + 20 * S, ALICE))


if __name__ == "__main__":
    unittest.main()
