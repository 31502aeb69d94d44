"""The checker finds each violation that is planted, and none where there is none."""

from __future__ import annotations

import random
import unittest
from dataclasses import replace

import checker
from excess import excess
from history import Call, Fault, History
from limits import COUNTED, LANES, LIMIT, SECOND, WHOLE, Bound

CLIENTS = ["A", "B"]
COUNTED_LANE, STRICT, LOCAL = range(3)
# Each lane of each client calls so often; a call takes a millisecond.
EVERY_US = 25_000
TOOK_US = 1_000
LATE_US, BACK_US = 1_000_000, 5_000_000

KILL = Fault("kill", began=4 * SECOND, healed=8 * SECOND, settled=9 * SECOND, forgets=1)
STOP = Fault("stop", began=4 * SECOND, healed=8 * SECOND, settled=9 * SECOND)


class Model:
    """A limiter that is right: a bucket for all, and one for each client."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.forget()
        self.shares = {client: [LIMIT / 2, 0] for client in CLIENTS}

    def forget(self) -> None:
        self.remaining = COUNTED
        self.buckets = {STRICT: [LIMIT, 0], LOCAL: [LIMIT, 0]}

    def is_away(self, at: int) -> bool:
        return self.fault.began <= at < self.fault.healed

    def take(self, bucket: list[float], at: int, bound: float) -> bool:
        bucket[0] = min(bound, bucket[0] + bound * (at - bucket[1]) / SECOND)
        bucket[1] = at
        if bucket[0] < 1:
            return False
        bucket[0] -= 1
        return True

    def answer(self, client: str, lane: int, at: int) -> tuple[bool | None, str, int]:
        if self.is_away(at):
            if lane == LOCAL:
                return self.take(self.shares[client], at, LIMIT / 2), "fallback", 0
            return None, "Connection", 0
        if lane == COUNTED_LANE:
            self.remaining -= 1
            return True, "server", self.remaining
        return self.take(self.buckets[lane], at, LIMIT), "server", 0


def history(fault: Fault = KILL) -> History:
    """Two clients for twelve seconds, with a fault in the middle."""
    model, found = Model(fault), History(LANES)
    counts = {client: [0] * len(LANES) for client in CLIENTS}
    was_away = False
    for turn in range(12 * SECOND // EVERY_US):
        for place, client in enumerate(CLIENTS):
            for lane in range(len(LANES)):
                before = turn * EVERY_US + place * 10_000 + lane * 2_000
                is_away = model.is_away(before)
                if was_away and not is_away and fault.forgets:
                    model.forget()
                was_away = is_away
                said = model.answer(client, lane, before)
                found.calls.append(Call(client, lane, counts[client][lane], before, before + TOOK_US, *said))
                counts[client][lane] += 1
    found.counts, found.faults = counts, [fault]
    return found


class Planted(unittest.TestCase):
    def violations(self, planted: History) -> list[str]:
        return checker.violations(planted, LATE_US, BACK_US)

    def assert_found(self, planted: History, words: str) -> None:
        found = self.violations(planted)
        self.assertTrue(any(words in one for one in found), found)

    def change(self, planted: History, place: int, **fields: object) -> None:
        planted.calls[place] = replace(planted.calls[place], **fields)

    def first(self, planted: History, lane: int, after: int, **fields: object) -> int:
        """The place of the first call of a lane of A since then, with these fields."""
        return next(
            place
            for place, call in enumerate(planted.calls)
            if (call.client, call.lane) == ("A", lane)
            and call.before >= after
            and all(getattr(call, name) == value for name, value in fields.items())
        )

    def test_nothing_where_nothing_is_wrong(self) -> None:
        for fault in (KILL, STOP):
            self.assertEqual(self.violations(history(fault)), [])

    def test_a_call_that_takes_too_long(self) -> None:
        for lane, deadline in ((COUNTED_LANE, 400_000), (STRICT, 1_500_000)):
            planted = history()
            place = self.first(planted, lane, KILL.began)
            before = planted.calls[place].before
            self.change(planted, place, after=before + deadline + LATE_US)
            self.assertEqual(self.violations(planted), [])
            self.change(planted, place, after=before + deadline + LATE_US + 1)
            self.assert_found(planted, "a call took")

    def test_a_call_without_an_answer(self) -> None:
        planted = history()
        del planted.calls[self.first(planted, STRICT, KILL.began)]
        self.assert_found(planted, "480 calls, and 479 answers")

    def test_a_client_that_hangs(self) -> None:
        planted = history()
        del planted.counts["B"]
        self.assert_found(planted, "a call was never answered")

    def test_a_lane_that_is_silent(self) -> None:
        planted = history()
        planted.calls = [call for call in planted.calls if (call.client, call.lane) != ("B", LOCAL)]
        self.assert_found(planted, "480 calls and no answer")

    def test_a_call_with_two_answers(self) -> None:
        planted = history()
        planted.calls.append(planted.calls[self.first(planted, STRICT, SECOND)])
        self.assert_found(planted, "481 answers to 480")

    def test_an_answer_of_another_call(self) -> None:
        planted = history()
        place = self.first(planted, COUNTED_LANE, SECOND)
        other = self.first(planted, COUNTED_LANE, 2 * SECOND)
        self.change(planted, place, remaining=planted.calls[other].remaining)
        self.assert_found(planted, "one charge was told to two callers")

    def test_a_charge_that_was_made_twice(self) -> None:
        """As by a client that sends a call again after a timeout: once where nothing failed, and more often than it failed."""
        for fault, since, charges in ((KILL, 10 * SECOND, 1), (STOP, 10 * SECOND, 400)):
            planted = history(fault)
            for place, call in enumerate(planted.calls):
                if call.lane == COUNTED_LANE and call.before > since and call.is_by_server:
                    self.change(planted, place, remaining=call.remaining - charges)
            self.assert_found(planted, f"{charges} charges were told to nobody")

    def test_charges_of_calls_that_failed_are_none_of_these(self) -> None:
        planted = history(STOP)
        failed = [call for call in planted.calls if call.lane == COUNTED_LANE and call.word == "Connection"]
        for place, call in enumerate(planted.calls):
            if call.lane == COUNTED_LANE and call.before > STOP.healed and call.is_by_server:
                self.change(planted, place, remaining=call.remaining - len(failed))
        self.assertEqual(self.violations(planted), [])

    def test_charges_that_were_forgotten(self) -> None:
        """The servers forget all, and are said to forget nothing."""
        planted = history(KILL)
        planted.faults = [replace(KILL, forgets=0)]
        self.assert_found(planted, "what was counted went back")
        self.assert_found(planted, "one charge was told to two callers")

    def test_admissions_over_the_limit(self) -> None:
        """A second bucket that nobody states, of which all but two units stay unused."""
        planted = history(STOP)
        denied = [place for place, call in enumerate(planted.calls) if call.lane == STRICT and call.allowed is False]
        for place in denied[:2]:
            self.change(planted, place, allowed=True)
        self.assert_found(planted, "stop: strict admitted")

    def test_admissions_over_what_is_stated(self) -> None:
        """A server that forgets twice admits two bursts more."""
        planted = history(KILL)
        more = [place for place, call in enumerate(planted.calls) if call.lane == STRICT and call.allowed is not True]
        for place in [place for place in more if 2 * SECOND < planted.calls[place].before < KILL.settled]:
            self.change(planted, place, allowed=True, word="server")
        self.assert_found(planted, "kill: strict admitted")

    def test_a_process_that_takes_more_than_its_share(self) -> None:
        planted = history()
        denied = [place for place, call in enumerate(planted.calls) if call.word == "fallback" and not call.allowed]
        for place in denied[:4]:
            self.change(planted, place, allowed=True)
        self.assert_found(planted, "units more by itself than its share")

    def test_a_fallback_where_none_was_asked_for(self) -> None:
        planted = history()
        self.change(planted, self.first(planted, STRICT, KILL.began, word="Connection"), word="fallback", allowed=True)
        self.assert_found(planted, "a fallback that was not asked for")

    def test_an_error_that_makes_no_sense(self) -> None:
        planted = history()
        self.change(planted, self.first(planted, STRICT, SECOND), word="InvalidArgument", allowed=None)
        self.assert_found(planted, "an answer nobody expects")

    def test_service_that_comes_back_late_or_never(self) -> None:
        for until, words in ((11 * SECOND, "came back after"), (99 * SECOND, "did not come back")):
            planted = history()
            for place, call in enumerate(planted.calls):
                if call.client == "B" and call.lane == STRICT and KILL.began < call.before < until:
                    self.change(planted, place, word="Connection", allowed=None)
            found = checker.violations(planted, LATE_US, 2 * SECOND)
            self.assertTrue(any(words in one for one in found), found)

    def test_a_fault_that_nobody_noticed(self) -> None:
        nothing = replace(KILL, began=2 * SECOND, healed=2 * SECOND + 1, settled=3 * SECOND)
        planted = history()
        planted.faults.insert(0, nothing)
        self.assert_found(planted, "kill: nobody noticed it")


class Excess(unittest.TestCase):
    """Against the definition, interval by interval."""

    def by_definition(self, calls: list[Call], bound: Bound) -> float:
        return max(
            sum(first.before <= call.before and call.after <= last.after for call in calls)
            - bound.within(last.after - first.before)
            for first in calls
            for last in calls
            if first.after <= last.after
        )

    def test_any_history(self) -> None:
        chance = random.Random(1)
        for _ in range(50):
            calls = []
            for number in range(chance.randrange(1, 40)):
                before = chance.randrange(3 * SECOND)
                calls.append(Call("A", STRICT, number, before, before + chance.randrange(SECOND), True, "server", 0))
            self.assertAlmostEqual(excess(calls, WHOLE), self.by_definition(calls, WHOLE), places=6)

    def test_denials_are_none(self) -> None:
        self.assertEqual(excess([Call("A", STRICT, 0, 0, 1, False, "server", 0)], WHOLE), -LIMIT)


if __name__ == "__main__":
    unittest.main()
