"""The calls: check, check_all, peek, refund, charge, reset. A check is a check_all of one item."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import decision
from .algorithm import Algorithm
from .decision import Decision, Figures
from .errors import InvalidArgument, UnknownRule
from .latitude import EXACT, Latitude
from .rules import Limit, Rule, read_rule

OVERDRAFT_MAX = 2**53
"""In units of cost or, for the gcra family, microseconds."""

Place = tuple
"""Where one limit keeps its state: (rule, which of its limits, who is counted)."""


@dataclass(frozen=True)
class Item:
    """What a call is about."""

    rule: str
    key: str | list[str]
    cost: int = 1
    resource: str | None = None
    limit: int | None = None


@dataclass(frozen=True)
class Charge:
    """An item whose arguments were found good."""

    rule: Rule
    item: Item
    algorithms: dict[Place, Algorithm]

    def fits(self, room: dict[Place, bool]) -> bool:
        return all(room[place] for place in self.algorithms)


class Limiter:
    def __init__(self, rules: list[dict], latitude: Latitude = EXACT):
        self.rules = {rule.id: rule for rule in map(read_rule, rules)}
        assert len(self.rules) == len(rules)
        self.latitude = latitude
        self.states: dict[Place, object] = {}

    def check(self, now: int, item: Item) -> Decision:
        return self._decide(now, [self._charge(item)])[0]

    def check_all(self, now: int, items: list[Item]) -> tuple[Decision, list[Decision]]:
        """The deciding decision, and one decision per item."""
        if not items:
            raise InvalidArgument("nothing to check")
        charges = [self._charge(item) for item in items]
        refuse_two_limits_for_one_state(charges)
        parts = self._decide(now, charges)
        rules = [charge.rule for charge in charges]
        overall = decision.of_all(parts, [rule.shadow for rule in rules], [rule.priority for rule in rules])
        return overall, parts

    def peek(self, now: int, item: Item) -> Decision:
        charge = self._charge(item)
        seen = {place: self._seen(place, algorithm, now) for place, algorithm in charge.algorithms.items()}
        room = {
            place: algorithm.capacity(seen[place], now) >= item.cost for place, algorithm in charge.algorithms.items()
        }
        costs = dict.fromkeys(room, item.cost)
        return answer(charge, seen, costs, room, now)

    def refund(self, now: int, item: Item) -> Decision:
        """Answers as a peek would afterwards."""
        for place, algorithm in self._charge(item).algorithms.items():
            state = self._seen(place, algorithm, now)
            if state is not None:
                state = algorithm.refunded(state, now, item.cost)
                self._store(place, None if algorithm.is_untouched(state, now) else state)
        return self.peek(now, item)

    def charge(self, now: int, item: Item) -> Decision:
        """Counts what was used already, also beyond the limit, and answers as a peek of 1 would afterwards."""
        after = {}
        for place, algorithm in self._charge(item).algorithms.items():
            state = self._seen(place, algorithm, now)
            cost = min(item.cost, algorithm.most_charged)
            if algorithm.overdraft(state, now, cost) > OVERDRAFT_MAX:
                raise InvalidArgument("more than can be counted")
            after[place] = algorithm.charged(state, now, cost)
        for place, state in after.items():
            self._store(place, state)
        return self.peek(now, replace(item, cost=1))

    def reset(self, _now: int, item: Item) -> None:
        """Forgets this key. What all keys together used of a resource stays."""
        charge = self._charge(item)
        for place, limit in places(charge.rule, item):
            if limit.scope == "key":
                self._store(place, None)

    def _decide(self, now: int, charges: list[Charge]) -> list[Decision]:
        algorithms = {place: algorithm for charge in charges for place, algorithm in charge.algorithms.items()}
        for place, algorithm in algorithms.items():
            self._store(place, self._seen(place, algorithm, now))

        costs = cost_per_place(charges)
        room = {
            place: algorithm.capacity(self.states.get(place), now) >= costs[place]
            for place, algorithm in algorithms.items()
        }
        admitted = all(charge.fits(room) for charge in charges if not charge.rule.shadow)
        to_charge = cost_per_place([charge for charge in charges if admitted and charge.fits(room)])
        to_charge |= {place: costs[place] for place in places_counting_denied(charges, room)}
        for place, cost in to_charge.items():
            self._store(place, algorithms[place].charged(self.states.get(place), now, cost))
        return [answer(charge, self.states, costs, room, now) for charge in charges]

    def _charge(self, item: Item) -> Charge:
        """The limits an item touches, or the error it deserves."""
        rule = self.rules.get(item.rule)
        if rule is None:
            raise UnknownRule(item.rule)
        refuse_bad_arguments(rule, item)
        algorithms = {place: limit.algorithm(item.limit, self.latitude) for place, limit in places(rule, item)}
        return Charge(rule, item, algorithms)

    def _seen(self, place: Place, algorithm: Algorithm, now: int) -> object:
        """The state as `now` has to take it: with no time in the future."""
        state = self.states.get(place)
        if state is not None and self.latitude.sweep_always:
            state = algorithm.swept(state, now)
            self._store(place, state)
        return None if state is None else algorithm.healed(state, now)

    def _store(self, place: Place, state: object) -> None:
        if state is None:
            self.states.pop(place, None)
        else:
            self.states[place] = state


def places(rule: Rule, item: Item) -> Iterator[tuple[Place, Limit]]:
    """The resource itself, and each key that uses it, are counted apart; so is a key on another resource."""
    for position, limit in enumerate(rule.limits):
        counted = (item.resource,) if limit.scope == "resource" else (item.resource, joined(item.key))
        yield (rule.id, position, counted), limit


def joined(key: str | list[str]) -> str:
    """One text for the parts of a key, in which no part can pass for several."""
    if isinstance(key, str):
        return key
    return ",".join(part.replace("\\", "\\\\").replace(",", "\\,") for part in key)


def cost_per_place(charges: list[Charge]) -> dict[Place, int]:
    """Items that meet in one state need room for the sum of their costs."""
    costs: dict[Place, int] = {}
    for charge in charges:
        for place in charge.algorithms:
            costs[place] = costs.get(place, 0) + charge.item.cost
    return costs


def places_counting_denied(charges: list[Charge], room: dict[Place, bool]) -> list[Place]:
    """A denied cost is counted by the limits that refused it, if their rule wants that."""
    counting = [charge for charge in charges if charge.rule.count_denied]
    return [place for charge in counting for place in charge.algorithms if not room[place]]


def answer(charge: Charge, states: dict, costs: dict, room: dict, now: int) -> Decision:
    limits = [
        figures(algorithm, states.get(place), now, costs[place], room[place])
        for place, algorithm in charge.algorithms.items()
    ]
    return decision.of_rule(charge.rule.id, charge.rule.shadow, limits)


def figures(algorithm: Algorithm, state: object, now: int, cost: int, fits: bool) -> Figures:
    return Figures(
        fits=fits,
        limit=int(algorithm.most),
        remaining=max(algorithm.capacity(state, now), 0),
        retry_after=0 if fits else algorithm.retry_after(state, now, cost),
        reset_after=algorithm.reset_after(state, now),
    )


def refuse_bad_arguments(rule: Rule, item: Item) -> None:
    if len(item.key) == 0 or "" in list(item.key):
        raise InvalidArgument("empty key, or empty part of one")
    if item.resource == "" or (item.resource is not None) != rule.has_resource:
        raise InvalidArgument("resource missing, empty or not wanted")
    if item.cost < 1:
        raise InvalidArgument("cost below 1")
    if item.limit is not None and (item.limit < 1 or len(rule.limits) != 1):
        raise InvalidArgument("limit below 1, or ambiguous")


def refuse_two_limits_for_one_state(charges: list[Charge]) -> None:
    overrides: dict[Place, int | None] = {}
    for charge in charges:
        for place in charge.algorithms:
            if overrides.setdefault(place, charge.item.limit) != charge.item.limit:
                raise InvalidArgument("two limits for one state")
