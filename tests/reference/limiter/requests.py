"""reserve_request: the rules that match a request, reserved together.

Only as much of matching as its vectors need: what a request matches has vectors of its own, written by hand.
"""

from .decision import Decision
from .items import Item
from .reservations import Reservation
from .rules import Rule


class Requests:
    """The part of a limiter that decides requests."""

    def reserve_request(
        self, now: int, request: dict
    ) -> tuple[Decision | None, list[Decision], Reservation | None]:
        """Holds under the rules that have reservations and charges the others; None where no rule applies."""
        rules = sorted(self.rules.values(), key=lambda rule: rule.priority)
        items = [item_of(rule, request) for rule in rules if applies(rule, request)]
        if not items:
            return None, [], None
        if any(self.rules[item.rule].reservations for item in items):
            return self.reserve_all(now, items)
        return *self.check_all(now, items), None


def applies(rule: Rule, request: dict) -> bool:
    """Whether the rule's conditions hold, and the request says who is counted."""
    given = rule.given
    if "match" not in given or identified(given["identifier_type"], request) is None:
        return False
    unless = given.get("unless", [])
    exemptions = unless if isinstance(unless, list) else [unless]
    return holds(given["match"], request) and not any(holds(exempt, request) for exempt in exemptions)


def holds(conditions: dict, request: dict) -> bool:
    assert conditions.keys() <= {"path_pattern", "methods", "requires_authentication", "required_headers"}
    pattern, path = conditions.get("path_pattern", "*"), request["path"]
    assert not set(pattern.removesuffix("*")) & set("*?{["), "a pattern that has vectors elsewhere"
    headers = {name.lower(): value for name, value in request.get("headers", [])}
    return (
        (path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern)
        and request["method"] in conditions.get("methods", [request["method"]])
        and ("user_id" in request or not conditions.get("requires_authentication", False))
        and all(headers.get(name.lower()) == value for name, value in conditions.get("required_headers", {}).items())
    )


def identified(identifier: str | list[str], request: dict) -> str | list[str] | None:
    if isinstance(identifier, list):
        parts = [identified(part, request) for part in identifier]
        return None if None in parts else parts
    if identifier == "global":
        return "global"
    if identifier.startswith("header:"):
        values = [value for name, value in request.get("headers", []) if name.lower() == identifier[7:].lower()]
        assert len(values) <= 1, "several keys have vectors elsewhere"
        return values[0] if values else None
    return request.get({"user_id": "user_id", "ip_address": "ip"}[identifier])


def item_of(rule: Rule, request: dict) -> Item:
    given = rule.given
    resource = identified(given["resource_identifier_type"], request) if rule.has_resource else None
    return Item(rule.id, identified(given["identifier_type"], request), given.get("cost", 1), resource)
