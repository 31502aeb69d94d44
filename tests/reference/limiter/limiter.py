"""The calls that decide or count: check, check_all, their waits, peek, refund, charge, reset. A check is a check_all of one
item."""

from dataclasses import replace

from .answers import answer
from .blocks import Blocks, begin_blocks, offending
from .decision import Decision
from .errors import InvalidArgument, UnknownRule
from .items import (
    Charge,
    Item,
    as_counted,
    cost_per_place,
    places,
    refuse_bad_arguments,
    refuse_two_limits_for_one_state,
    refuse_work_in_flight,
)
from .latitude import EXACT, Latitude
from .overview import Overview
from .request_ids import RequestIds
from .requests import Requests
from .reservations import Reservations
from .rules import read_rule
from .together import charge_beyond, charge_denied, charge_fitting, is_admitted, overall, room_in
from .stored_limits import StoredLimits
from .view import Store, View, look
from .waiting import in_time


class Limiter(Reservations, Blocks, StoredLimits, RequestIds, Overview, Requests):
    def __init__(self, rules: list[dict], latitude: Latitude = EXACT):
        self.rules = {rule.id: rule for rule in map(read_rule, rules)}
        assert len(self.rules) == len(rules)
        self.latitude = latitude
        self.store = Store()
        self.last_reservation = 0

    def check(self, now: int, item: Item, request_id: str | None = None) -> Decision:
        charges = [self._charge(now, item)]
        return self._once(now, request_id, "check", charges, lambda: self._check(now, charges)[0])

    def check_all(
        self, now: int, items: list[Item], request_id: str | None = None
    ) -> tuple[Decision, list[Decision]]:
        """The deciding decision, and one decision per item."""
        charges = self._charges(now, items)
        parts = self._once(now, request_id, "check_all", charges, lambda: self._check(now, charges))
        return overall(charges, parts), parts

    def wait(self, now: int, item: Item, timeout: int) -> Decision:
        """A check that waits for room."""
        return in_time(now, timeout, lambda at: (self.check(at, item),))[0]

    def wait_all(self, now: int, items: list[Item], timeout: int) -> tuple[Decision, list[Decision]]:
        return in_time(now, timeout, lambda at: self.check_all(at, items))

    def peek(self, now: int, item: Item) -> Decision:
        charge = self._charge(now, item)
        view = self._look(now, [charge])
        costs = cost_per_place([charge])
        return answer(charge, view, costs, room_in(view, [charge], costs))

    def refund(self, now: int, item: Item, request_id: str | None = None) -> Decision:
        """Answers as a peek would afterwards."""
        charge = self._charge(now, item)
        return self._once(now, request_id, "refund", [charge], lambda: self._refund(now, charge))

    def charge(self, now: int, item: Item, request_id: str | None = None) -> Decision:
        """Counts what was used already, also beyond the limit, and answers as a peek of 1 would afterwards."""
        charge = self._charge(now, item)
        return self._once(now, request_id, "charge", [charge], lambda: self._count(now, charge))

    def _refund(self, now: int, charge: Charge) -> Decision:
        refuse_work_in_flight(charge)
        view = self._look(now, [charge])
        for place, algorithm in charge.algorithms.items():
            state = view.states[place]
            if state is not None:
                state = algorithm.refunded(state, now, charge.item.cost)
                view.states[place] = None if algorithm.is_untouched(state, now) else state
        self.store.write(view)
        return self.peek(now, charge.item)

    def _count(self, now: int, charge: Charge) -> Decision:
        refuse_work_in_flight(charge)
        view = self._look(now, [charge])
        charge_beyond(view, charge, list(charge.algorithms), charge.item.cost)
        begin_blocks(view, offending(view, [charge], dict.fromkeys(charge.algorithms, 1)))
        self.store.write(view)
        return self.peek(now, replace(charge.item, cost=1))

    def reset(self, now: int, item: Item) -> None:
        """Forgets this key and its blocks, and ends what it holds. What all keys together hold of a resource stays, and
        what they used of it unless the rule counts nothing else. Stored limits and kept answers stay."""
        charge = self._charge(now, item)
        for scope in charge.scopes:
            self.store.blocks.pop(scope, None)
        for place, limit in places(charge.rule, charge.item):
            if limit.scope == "key" or not charge.rule.counts_keys:
                self.store.states.pop(place, None)
            if limit.scope == "key":
                held = self.store.holdings.get(place[0])
                if held is not None:
                    self.store.holdings[place[0]] = held._replace(holds=(), changed_at=now)

    def _check(self, now: int, charges: list[Charge]) -> list[Decision]:
        for charge in charges:
            refuse_work_in_flight(charge)
        view = self._look(now, charges)
        costs = cost_per_place(charges)
        room = room_in(view, charges, costs)
        offenders = offending(view, charges, costs)
        if is_admitted(view, charges, room):
            charge_fitting(view, charges, room)
        charge_denied(view, charges, costs, room)
        begin_blocks(view, offenders)
        self.store.write(view)
        return [answer(charge, view, costs, room) for charge in charges]

    def _charge(self, now: int, item: Item) -> Charge:
        """The limits an item touches, or the error it deserves."""
        rule = self.rules.get(item.rule)
        if rule is None:
            raise UnknownRule(item.rule)
        refuse_bad_arguments(rule, item)
        return self._under_its_limit(now, Charge(rule, as_counted(rule, item), {}))

    def _under_its_limit(self, now: int, charge: Charge) -> Charge:
        """The limit of the call goes before the stored one, and that before the rule's."""
        touched = dict(places(charge.rule, charge.item))
        if charge.rule.overrides:
            ((scope, _),) = touched
            stored = self.store.limits.get(scope)
            charge = replace(charge, stored=stored and stored.healed(now))
        limit = charge.stored_at(now) if charge.item.limit is None else charge.item.limit
        algorithms = {place: each.algorithm(limit, self.latitude) for place, each in touched.items()}
        return replace(charge, algorithms=algorithms)

    def _charges(self, now: int, items: list[Item]) -> list[Charge]:
        if not items:
            raise InvalidArgument("nothing to check")
        charges = [self._charge(now, item) for item in items]
        refuse_two_limits_for_one_state(charges)
        return charges

    def _look(self, now: int, charges: list[Charge]) -> View:
        if self.latitude.sweep_always:
            for scope, stored in list(self.store.limits.items()):
                if not stored.is_in_force(now):
                    del self.store.limits[scope]
            for place, kept in list(self.store.answers.items()):
                if now >= kept.until:
                    del self.store.answers[place]
        return look(self.store, self.latitude, now, charges)
