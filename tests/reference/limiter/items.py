"""What calls are about, and the mistakes that are refused before anything is decided."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .addresses import read_addresses
from .algorithm import SUM_MAX, Algorithm
from .errors import InvalidArgument
from .rules import Limit, Rule
from .stored_limit import StoredLimit

Scope = tuple
"""Who is counted under a rule, and holds reservations together: (rule, key or resource)."""

Place = tuple
"""Where one limit keeps its state: (scope, which limit of the rule)."""


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
    stored: StoredLimit | None = None
    """What was stored for the key, whether it is still in force or not."""

    def stored_at(self, at: int) -> int | None:
        """The stored limit that is in force at an instant."""
        return self.stored.limit if self.stored and self.stored.is_in_force(at) else None

    @property
    def scopes(self) -> list[Scope]:
        return list(dict.fromkeys(scope for scope, _ in self.algorithms))

    @property
    def meets(self) -> tuple:
        """Items of which this is the same are one reservation."""
        return self.rule.id, tuple(self.algorithms)

    def fits(self, room: dict[Place, bool]) -> bool:
        return all(room[place] for place in self.algorithms)


def places(rule: Rule, item: Item) -> Iterator[tuple[Place, Limit]]:
    """The resource itself, and each key that uses it, are counted apart; so is a key on another resource."""
    for position, limit in enumerate(rule.limits):
        counted = (item.resource,) if limit.scope == "resource" else (item.resource, joined(item.key))
        yield ((rule.id, counted), position), limit


def as_counted(rule: Rule, item: Item) -> Item:
    """The item with the addresses in its key and its resource as the rule counts them."""
    prefix_length = rule.given.get("ipv6_prefix_length", 64)
    key = read_addresses(item.key, rule.given.get("identifier_type"), prefix_length)
    resource = read_addresses(item.resource, rule.given.get("resource_identifier_type"), prefix_length)
    return replace(item, key=key, resource=resource)


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


def summed(charges: list[Charge]) -> list[Charge]:
    """Items of one rule, key and resource as one of the summed cost."""
    together: dict[tuple, Charge] = {}
    for charge in charges:
        before = together.get(charge.meets)
        cost = charge.item.cost + (before.item.cost if before else 0)
        together[charge.meets] = replace(charge, item=replace(charge.item, cost=cost))
    return list(together.values())


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


def refuse_work_in_flight(charge: Charge) -> None:
    if charge.rule.is_concurrency:
        raise InvalidArgument("only reserve takes places")


def refuse_bad_cost_of_commit(cost: int) -> None:
    if not 0 <= cost < SUM_MAX:
        raise InvalidArgument("cost below 0, or too high")
