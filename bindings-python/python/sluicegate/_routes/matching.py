"""The decision of middleware: by the rules that match a request, with the functions of the application."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._middleware import Policy, ensure
from .._native import Decision
from ..errors import InvalidArgumentError, InvalidRuleError, SluicegateError
from .deciding import Deciding, Framework, Verdict, called
from .hooks import Count, Hook, HookError, Hooks, Steps, ask, name_of
from .keys import Keys, NoAddress, NoHeader
from .request import RouteRequest
from .rules import Choice, ListedRules, Rule, found

if TYPE_CHECKING:
    from .._native import RequestMatch

# The remaining cost where no rule applies, as the limiter states it.
_UNLIMITED = 2**53 - 1
_WHERE = "middleware"


@dataclass
class MatchedRequest(RouteRequest):
    """A request that rules may match."""

    # What `reserve_request` takes.
    line: dict[str, Any]

    @property
    def where(self) -> str:
        return _WHERE


@dataclass(frozen=True)
class _Early:
    """A request of which nothing is known yet."""

    arguments: tuple[Any, ...]
    where: str = _WHERE


class Matching(Deciding):
    """Decides requests by the rules that match them, or by those that `rules` names."""

    def __init__(
        self,
        policy: Policy,
        framework: Framework,
        *,
        skip: Hook | None,
        key: Hook | None,
        cost: int | Hook | None,
        limit: int | Hook | None,
        rules: list[str] | tuple[str, ...] | Hook | None,
        on_denied: Hook | None,
        on_decision: Hook | None,
        count: Count = "all",
    ) -> None:
        stated = 1 if cost is None else cost
        hooks = Hooks(
            skip=skip, key=key, cost=stated, limit=limit, on_denied=on_denied, on_decision=on_decision, count=count
        )
        super().__init__(hooks, policy, framework)
        ensure("rules", "a list of names, or a function", rules, rules is None or callable(rules) or _are_names(rules))
        if isinstance(rules, (list, tuple)) and not rules:
            raise InvalidArgumentError("rules is empty: leave it out for all rules that match (`skip` exempts requests)")
        self._names = rules
        self._has_cost = cost is not None
        # Where the application chooses nothing, the limiter matches and decides in one call.
        self._chooses = self._has_cost or limit is not None or rules is not None
        self._listed = ListedRules()

    def ensure_known(self, limiter: Any) -> None:
        """Refuses names of rules that the limiter does not have, and a count that makes no difference to any rule."""
        if self.hooks.by_outcome and not any(rule.get("reservations") for rule in self._listed.of(limiter).values()):
            raise InvalidRuleError('count by the outcome needs rules with reservations (add "reservations": true to a rule)')
        if isinstance(self._names, (list, tuple)):
            listed = self._listed.of(limiter)
            for name in self._names:
                found(listed, name)

    def steps(self, request: Any, find: Callable[[], Any], describe: Callable[[], Any]) -> Generator[Any, Any, Verdict]:
        """Decides; yields what may have to be awaited.

        `find` answers the limiter and `describe` a `MatchedRequest`, once it is known that the request is not exempt.
        """
        early = _Early((request,))
        verdict: Verdict = yield from self._logged(self._decided(early, find, describe), early)
        return verdict

    def _decided(self, early: _Early, find: Callable[[], Any], describe: Callable[[], Any]) -> Steps:
        if (yield from self._is_skipped(early)):
            return Verdict()
        limiter = yield find()
        request = yield describe()
        if not self._chooses:
            try:
                decision = yield limiter.reserve_request(**request.line)
            except SluicegateError as error:
                return self._undecided(request, error)
            return (yield from self._told(decision, request))
        names = yield from self._named(request)
        try:
            matches = limiter.match_request(**request.line)
        except SluicegateError as error:
            return self._undecided(request, error)
        try:
            choice, checks = yield from self._checks(limiter, request, names, matches)
        except NoAddress:
            return self._without_address(request)
        except NoHeader as error:
            return self._without_header(request, error)
        try:
            decision = (yield called(limiter, choice, checks)) if checks else _unlimited()
        except InvalidArgumentError as error:
            # What a client chooses is looked at before: this is what the application states.
            raise HookError(f"{_WHERE}: {error}") from error
        except SluicegateError as error:
            return self._undecided(request, error)
        return (yield from self._told(decision, request))

    def _named(self, request: MatchedRequest) -> Steps:
        """The names of the rules that may be applied; None: all that match."""
        if not callable(self._names):
            return self._names
        names = yield from ask(_WHERE, "rules", self._names, request.arguments, self._passing)
        if names is not None and not names and _are_names(names):
            advice = "return None for all rules that match; `skip` exempts requests"
            raise HookError(f"{_WHERE}: rules returned an empty list ({advice})")
        if names is not None and not _are_names(names):
            raise HookError(f"{_WHERE}: rules returned a {type(names).__name__} (return a list of names, or None for all rules)")
        return names

    def _checks(
        self, limiter: Any, request: MatchedRequest, names: list[str] | None, matches: list[RequestMatch]
    ) -> Steps:
        listed = self._listed.of(limiter)
        cost = (yield from self._number("cost", request)) if self._has_cost else None
        limit = yield from self._number("limit", request)
        chosen: list[tuple[Rule, Any, str | None]] = [
            (listed.get(match.rule_id, {"rule_id": match.rule_id}), match.key, match.resource)
            for match in matches
            if names is None or match.rule_id in names
        ]
        keys = Keys(self._known(request), self._policy, request, self._passing)
        for name in names or ():
            rule = found(listed, name)
            if "match" not in rule:
                chosen.append((rule, (yield from keys.of(rule)), None))
        chosen.sort(key=lambda each: each[0].get("priority", 0))
        checks = [
            {"rule": rule["rule_id"], "key": key, "cost": cost or rule.get("cost", 1), "resource": resource, "limit": limit}
            for rule, key, resource in chosen
        ]
        return Choice([rule for rule, *_ in chosen]), checks

    def _known(self, request: MatchedRequest) -> Hooks:
        """The user is known already."""
        user = request.line["user_id"]
        return replace(self.hooks, user_id=lambda *_: user)


def user_named(user: Any) -> Any:
    """Refuses a user that is false, such as an empty name, who would be counted by no rule for users."""
    return name_of(_WHERE, "user_id", user) if user == "" or (user == 0 and user is not False) else user


def _are_names(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)


def _unlimited() -> Decision:
    return Decision(allowed=True, rule="", limit=_UNLIMITED, remaining=_UNLIMITED)
