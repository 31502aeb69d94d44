"""The rules by which a route is limited: some are stated there, others are in the file."""

from __future__ import annotations

import re
import threading
from typing import Any

from .._native import RateLimiter
from ..errors import InvalidArgumentError, InvalidRuleError, UnknownRuleError, WrongTypeError
from .naming import is_name, rule_name
from .request import RouteRequest

Rule = dict[str, Any]

# Of so many limiters it is remembered which rules were added to them.
_LIMITERS = 16
# Begins as a rate does, and no name of a rule that anybody would give: 5/minute.
_RATE = re.compile(r"\s*\d[\d_ ]*/")


def is_rate(limit: str) -> bool:
    """Whether a text is a rate rather than the name of a rule."""
    return _RATE.match(limit) is not None


def normal(rule: Rule) -> Rule:
    """A rule as limiters list it. Raises InvalidRuleError where it is not valid."""
    limiter = RateLimiter("memory://", rules=[rule])
    try:
        return dict(limiter.rules()[0])
    finally:
        limiter.close()


def found(listed: dict[str, Rule], name: str) -> Rule:
    """The rule of a name. Raises UnknownRuleError where there is none."""
    rule = listed.get(name)
    if rule is None:
        raise _unknown(name)
    return rule


def _unknown(name: str) -> UnknownRuleError:
    return UnknownRuleError(f'no rule is called "{name}" (a limit is a rate such as "5/minute", or the name of a rule)')


class ListedRules:
    """The rules of a limiter by their names, listed anew when they change."""

    def __init__(self) -> None:
        self._listed: tuple[str, dict[str, Rule]] = ("", {})

    def of(self, limiter: Any) -> dict[str, Rule]:
        """Those that are in force."""
        # To list the rules takes long, and to ask for their version does not.
        version = f"{id(limiter)} {limiter.rules_status().version}"
        listed = self._listed
        if listed[0] != version:
            listed = self._listed = (version, {rule["rule_id"]: rule for rule in limiter.rules()})
        return listed[1]


class Choice:
    """The rules of a request, and what follows from them."""

    __slots__ = ("has_reservations", "is_identified", "rules")

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        # Whether a rule says who is counted.
        self.is_identified = any("identifier_type" in rule for rule in rules)
        # Whether what is admitted is held, and charged or given back later.
        self.has_reservations = any(rule.get("reservations") or rule.get("algorithm") == "concurrency" for rule in rules)


class RouteRules:
    """What a route states: rates, rules as data, and names of rules."""

    def __init__(self, stated: tuple[Any, ...], *, shared: str | None, per_method: bool, count: str | None) -> None:
        if not stated:
            raise InvalidArgumentError('a limit is missing (state a rate such as "5/minute", or the name of a rule)')
        for each in stated:
            if not isinstance(each, (str, dict)):
                raise WrongTypeError(f"a limit must be a rate, the name of a rule, or a dict, not {type(each).__name__}")
        self._stated = stated
        self._shared = shared
        self._per_method = per_method
        self._count = count
        self._lock = threading.Lock()
        # By limiter, and by the template of the route: one function may serve several. That of a limiter holds it, so that no
        # other one has its address meanwhile.
        self._made: dict[int, tuple[Any, dict[tuple[str, str], _Made]]] = {}
        self._listed = ListedRules()
        # What is not valid is known now rather than with the first request.
        for each in stated:
            if isinstance(each, dict) or is_rate(each):
                normal(self._rule(each, "routes", "/"))
            elif not is_name(each):
                raise _unknown(each)

    def ensure_known(self, limiter: Any) -> None:
        """Refuses names of rules that the limiter does not have."""
        listed = self._listed.of(limiter)
        for each in self._stated:
            if isinstance(each, str) and not is_rate(each):
                self._named(listed, each)

    def of(self, limiter: Any, name: str, request: RouteRequest) -> Choice:
        """The rules for a request, in their normal form. Those that are stated here are added to the limiter first."""
        template = self._shared or request.template
        if self._per_method and self._shared is None:
            template = f"{request.method} {template}"
        known = self._made.get(id(limiter)) or self._met(limiter)
        place = (name, template)
        made = known[1].get(place)
        if made is None:
            with self._lock:
                made = known[1].get(place) or _Made([self._made_by(limiter, each, name, template) for each in self._stated])
                known[1][place] = made
        if made.choice is not None:
            return made.choice
        listed = self._listed.of(limiter)
        return Choice([rule or self._named(listed, each) for rule, each in zip(made.rules, self._stated, strict=True)])

    def _met(self, limiter: Any) -> tuple[Any, dict[tuple[str, str], _Made]]:
        """Remembers a limiter in place of the oldest one: tests have one each."""
        with self._lock:
            if len(self._made) >= _LIMITERS:
                self._made.pop(next(iter(self._made)))
            return self._made.setdefault(id(limiter), (limiter, {}))

    def _made_by(self, limiter: Any, each: Any, name: str, template: str) -> Rule:
        """A rule that is stated here; empty for one that is in the file, which may change."""
        if isinstance(each, str) and not is_rate(each):
            return {}
        rule = normal(self._rule(each, name, template))
        try:
            limiter.add_rules([rule])
        except InvalidRuleError:
            # Another instance may have stated the same.
            if rule not in limiter.rules():
                raise
        return rule

    def _named(self, listed: dict[str, Rule], name: str) -> Rule:
        """A rule of the file. Without reservations it would charge every request, whatever its outcome."""
        rule = found(listed, name)
        if self._count and not rule.get("reservations"):
            raise InvalidRuleError(
                f'rule "{name}": count by the outcome needs reservations (add "reservations": true to the rule)'
            )
        return rule

    def _rule(self, each: Any, name: str, template: str) -> Rule:
        words = [name, template, *([self._count] if self._count else [])]
        if isinstance(each, dict):
            return {"rule_id": rule_name(*words, str(each.get("rate", ""))), **each, **self._reserved()}
        rate = re.sub(r"\s", "", each)
        return {"rule_id": rule_name(*words, rate), "rate": rate, **self._reserved()}

    def _reserved(self) -> Rule:
        return {"reservations": True} if self._count else {}


class _Made:
    """The rules that are stated for one route; empty for those of the file, which may change: then nothing is chosen yet."""

    __slots__ = ("choice", "rules")

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.choice = Choice(rules) if all(rules) else None
