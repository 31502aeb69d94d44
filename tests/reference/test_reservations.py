"""Reservations in the reference, from first principles."""

import unittest
from dataclasses import replace

from limiter import Item, Limiter
from limiter.holdings import MOST_HOLDS
from random_histories import Dice
from scenarios.reservations.held import EVERY, holding, in_flight
from scenarios.script import BASE, S

ALICE = Item("api", "alice")
LEASE = 3


class Life:
    """A random life of a key: reserves, commits, releases, renewals, checks; some reservations are never ended."""

    def __init__(self, made: dict, seed: int, beyond: bool = False):
        self.dice = Dice(seed)
        self.limiter = Limiter([made])
        self.beyond = beyond
        self.now = BASE + self.dice.below(20 * S)
        self.open: list = []
        self.charges: list[tuple[int, int]] = []
        """When what was charged, ends of reservations included: (time, cost)."""

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.now += self.dice.below(S)
            self.expire()
            self.dice.one_of((self.reserve, self.reserve, self.commit, self.release, self.renew, self.check))()

    def expire(self) -> None:
        for held in sorted(self.open, key=lambda held: held["expiry"]):
            if held["expiry"] <= self.now:
                self.charges.append((held["expiry"], held["cost"]))
                self.open.remove(held)

    def reserve(self) -> None:
        cost = 1 + self.dice.below(4)
        decision, reservation = self.limiter.reserve(self.now, replace(ALICE, cost=cost))
        assert decision.allowed == (reservation is not None)
        if reservation:
            self.open.append({"of": reservation, "cost": cost, "expiry": self.now + LEASE * S})

    def commit(self) -> None:
        if self.open:
            held = self.open.pop(self.dice.below(len(self.open)))
            cost = self.dice.below(held["cost"] + (9 if self.beyond else 1))
            assert self.limiter.commit(self.now, held["of"], cost)
            self.charges.append((self.now, cost))

    def release(self) -> None:
        if self.open:
            assert self.limiter.release(self.now, self.open.pop(self.dice.below(len(self.open)))["of"])

    def renew(self) -> None:
        if self.open:
            held = self.dice.one_of(self.open)
            assert self.limiter.renew(self.now, held["of"])
            held["expiry"] = self.now + LEASE * S

    def check(self) -> None:
        cost = 1 + self.dice.below(3)
        if self.limiter.check(self.now, replace(ALICE, cost=cost)).allowed:
            self.charges.append((self.now, cost))

    def held(self) -> int:
        return sum(held["cost"] for held in self.open)


class Lives(unittest.TestCase):
    def each(self, **options):
        for name in EVERY:
            for seed in range(6):
                with self.subTest(algorithm=name, seed=seed):
                    yield Life(holding(name, LEASE), seed, **options)

    def test_charged_and_held_never_exceed_the_limit(self):
        for life in self.each():
            for _ in range(40):
                life.live(1)
                room = self.room_without_held(life)
                self.assertGreaterEqual(room, life.held())
                self.assertEqual(life.limiter.peek(life.now, ALICE).remaining, room - life.held())

    def room_without_held(self, life: Life) -> int:
        return self.replayed(life).peek(life.now, ALICE).remaining

    def test_after_all_have_ended_the_state_is_that_of_the_charges(self):
        for life in self.each(beyond=True):
            life.live(60)
            for held in list(life.open):
                life.release()
            replayed = self.replayed(life)
            for later in (0, S // 2, 3 * S, 8 * S, 40 * S):
                for cost in (1, 4, 10):
                    item = replace(ALICE, cost=cost)
                    at = life.now + later
                    self.assertEqual(life.limiter.peek(at, item), replayed.peek(at, item))

    def replayed(self, life: Life) -> Limiter:
        """A limiter that has seen nothing but the charges, each at its time."""
        limiter = Limiter(without_reservations(life))
        for at, cost in sorted(life.charges, key=lambda charge: charge[0]):
            if cost:
                limiter.charge(at, replace(ALICE, cost=cost))
        return limiter


def without_reservations(life: Life) -> list[dict]:
    (rule,) = life.limiter.rules.values()
    others = ("reservations", "lease_seconds")
    return [{name: value for name, value in rule.limits[0].fields.items() if name not in others}]


class Places(unittest.TestCase):
    def test_no_more_is_in_flight_than_there_are_places(self):
        for seed in range(50):
            life = Life(in_flight(5, LEASE), seed)
            life.check = lambda: None
            for _ in range(40):
                life.live(1)
                self.assertLessEqual(life.held(), 5)
                self.assertEqual(life.limiter.peek(life.now, ALICE).remaining, 5 - life.held())

    def test_waits_are_exact_while_nobody_comes(self):
        for seed in range(50):
            life = Life(in_flight(5, LEASE), seed)
            life.check = lambda: None
            life.live(25)
            for cost in range(1, 6):
                item = replace(ALICE, cost=cost)
                wait = life.limiter.peek(life.now, item).retry_after
                self.assertTrue(life.limiter.peek(life.now + wait, item).allowed)
                if wait:
                    self.assertFalse(life.limiter.peek(life.now + wait - 1, item).allowed)

    def test_a_key_has_ten_thousand_reservations_at_most(self):
        for made in (in_flight(2**40, LEASE), holding("fixed_window", LEASE) | {"limit": 2**40}):
            limiter = Limiter([made])
            _, first = limiter.reserve(BASE, ALICE)
            ((scope, holdings),) = limiter.store.holdings.items()
            hold, later = holdings.holds[0], BASE + 2 * LEASE * S
            others = [hold._replace(id=(number, 0), expiry=later) for number in range(2, MOST_HOLDS + 1)]
            limiter.store.holdings[scope] = holdings._replace(holds=(hold, *others))
            limiter.last_reservation = MOST_HOLDS
            decision, none = limiter.reserve(BASE + 1, ALICE)
            self.assertIsNone(none)
            self.assertEqual((decision.allowed, decision.retry_after), (False, LEASE * S - 1))
            self.assertTrue(limiter.release(BASE + 1, first))
            self.assertTrue(limiter.reserve(BASE + 1, ALICE)[0].allowed)
            self.assertFalse(limiter.reserve(BASE + 1, ALICE)[0].allowed)


class Tokens(unittest.TestCase):
    def test_tokens_grow_whatever_happens_to_the_clock(self):
        dice, limiter, last, now = Dice(3), Limiter([in_flight(9, LEASE)]), -1, BASE
        for _ in range(500):
            now += dice.below(2 * S) - dice.below(S)
            _, reservation = limiter.reserve(now, ALICE)
            if reservation:
                self.assertGreater(reservation.token, last)
                last = reservation.token
                if dice.below(2):
                    limiter.release(now, reservation)
            if dice.below(9) == 0:
                limiter.reset(now, ALICE)


if __name__ == "__main__":
    unittest.main()
