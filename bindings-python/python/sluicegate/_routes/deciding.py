"""The decision at a route: one sequence of steps, which blocking and asynchronous frameworks carry out alike."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from .._inflight import give_back
from .._middleware import Headers, Policy, ensure
from .._native import Check, Decision, Problem, Reserved
from ..errors import InvalidArgumentError, InvalidRuleError, SluicegateError, UnknownRuleError
from .hooks import NOT_AWAITED, CoroutineError, HookError, Hooks, Steps, ask, shown, whole
from .keys import Keys, NoAddress, NoHeader, address_of
from .request import Asked, RouteRequest
from .rules import Choice, Rule, RouteRules

_T = TypeVar("_T")
_LOG = logging.getLogger("sluicegate")
# Those of a `Check`. Of a single one, no object is made.
Arguments = dict[str, Any]
_NO_STORE = ("Cache-Control", "no-store")
# The status of HTTP of every answer to gRPC.
_OK = 200


@dataclass(frozen=True)
class Denial:
    """What the client is answered in place of the application."""

    # What is wrong.
    problem: Problem
    # What the client is sent where the application does not answer: the problem, or a status of gRPC.
    reply: Problem
    decision: Decision | None = None
    # That of `on_denied`, of the framework's own type.
    answer: Any = None

    @property
    def is_grpc(self) -> bool:
        """Whether the client reads a status of gRPC alone, which no exception of a framework leads to."""
        return self.reply.status == _OK

    @property
    def content_type(self) -> str:
        """That of the reply."""
        return next(value for name, value in self.reply.headers if name == "Content-Type")

    @property
    def headers(self) -> Headers:
        """Those of the answer, but for its type; they are for one client, and for now."""
        names = [(name, value) for name, value in self.reply.headers if name.lower() != "content-type"]
        return names if any(name.lower() == "cache-control" for name, _ in names) else [*names, _NO_STORE]

    @property
    def detail(self) -> str:
        """What is wrong, in a sentence."""
        return str(json.loads(self.problem.body).get("detail", self.problem.title))


@dataclass(slots=True)
class Verdict:
    """What is decided about a request."""

    headers: Headers = field(default_factory=list)
    decision: Decision | None = None
    # What is charged or given back when the answer is known.
    held: Any = None
    denial: Denial | None = None


@dataclass(frozen=True)
class Framework:
    """What functions of the application may do in a framework."""

    # What it sends of what `on_denied` returned; None where it cannot.
    answer_of: Callable[[Any], Any]
    # What they may raise, since the framework answers with it.
    passing: tuple[type[BaseException], ...] = ()


@dataclass(frozen=True)
class Shared:
    """What the routes of one `RouteLimits` share."""

    limiter: Any
    # Refuses a limiter of the wrong kind.
    check_limiter: Callable[[Any], None]
    policy: Policy
    hooks: Hooks
    name: str | None
    enabled: bool
    framework: Framework


class Deciding:
    """What routes and middleware do about a request alike."""

    def __init__(self, hooks: Hooks, policy: Policy, framework: Framework) -> None:
        self.hooks = hooks
        self._policy = policy
        self._framework = framework
        self._passing = framework.passing

    def _logged(self, steps: Steps, request: Asked) -> Steps:
        try:
            return (yield from steps)
        except (HookError, CoroutineError) as error:
            _LOG.error("%s", error)
            raise
        except (InvalidRuleError, UnknownRuleError) as error:
            _LOG.error("%s: %s", request.where, error)
            raise

    def _is_skipped(self, request: Asked) -> Steps:
        return self.hooks.skip is not None and bool((yield from self._ask("skip", request)))

    def _number(self, name: str, request: Asked) -> Steps:
        stated = getattr(self.hooks, name)
        if not callable(stated):
            return stated
        value = yield from self._ask(name, request)
        return None if value is None and name == "limit" else whole(request.where, name, value)

    def _ask(self, name: str, request: Asked, *more: object) -> Steps:
        hook = getattr(self.hooks, name)
        return (yield from ask(request.where, name, hook, (*request.arguments, *more), self._passing))

    def _without_address(self, request: RouteRequest) -> Verdict:
        if self.hooks.no_address == "skip":
            return Verdict()
        return _denied(request, Problem.invalid("the address of the client is not known"))

    def _without_header(self, request: RouteRequest, error: NoHeader) -> Verdict:
        return _denied(request, Problem.invalid(str(error)))

    def _undecided(self, request: RouteRequest, error: SluicegateError) -> Verdict:
        found = self._policy.undecided(error)
        return _denied(request, found) if isinstance(found, Problem) else Verdict(headers=found)

    def _told(self, decision: Decision, request: RouteRequest) -> Steps:
        held: Any = decision if isinstance(decision, Reserved) and decision.id is not None else None
        if self.hooks.on_decision is not None:
            try:
                yield from self._ask("on_decision", request, decision)
            except HookError as error:
                # It only looks.
                _LOG.error("%s", error)
            except BaseException:
                # The client has hung up, or the framework answers: nobody else knows of what is held.
                if held is not None:
                    give_back(held)
                raise
        found = self._policy.decided(decision)
        if not isinstance(found, Problem):
            return Verdict(found, decision, held)
        answer = None if self.hooks.on_denied is None else (yield from self._answer(decision, request))
        return _denied(request, found, decision, answer)

    def _answer(self, decision: Decision, request: RouteRequest) -> Steps:
        returned = yield from self._ask("on_denied", request, decision)
        answer = None if returned is None else self._framework.answer_of(returned)
        if returned is None or answer is not None:
            return answer
        raise HookError(f"{request.where}: on_denied returned {shown(returned)} (return a response, or None for the default one)")


def instance_of(kind: type) -> Callable[[Any], Any]:
    """For frameworks that send objects of one class alone."""
    return lambda returned: returned if isinstance(returned, kind) else None


def _denied(request: RouteRequest, problem: Problem, decision: Decision | None = None, answer: Any = None) -> Verdict:
    """An answer of the application's own is sent as it is, whatever the client speaks."""
    content_type = None if answer is not None else request.content_type
    reply = problem if content_type is None else problem.for_content_type(content_type)
    return Verdict(decision=decision, denial=Denial(problem, reply, decision, answer))


class Route(Deciding):
    """The limits of a route."""

    def __init__(self, shared: Shared, stated: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._shared = shared
        share, per_method = options.pop("shared", None), options.pop("per_method", False)
        _ensure_known("a route", options)
        ensure("shared", "a str", share, share is None or isinstance(share, str))
        ensure("per_method", "a bool", per_method, isinstance(per_method, bool))
        if share == "":
            raise InvalidArgumentError("shared is empty")
        super().__init__(replace(shared.hooks, **options), shared.policy, shared.framework)
        # Whether functions of the application say who is counted, and by how much.
        self._is_asked = any(callable(hook) for hook in (self.hooks.key, self.hooks.user_id, self.hooks.cost, self.hooks.limit))
        count = self.hooks.count if isinstance(self.hooks.count, str) else "outcome"
        self._rules = RouteRules(
            stated, shared=share, per_method=per_method, count=None if count == "all" else count
        )
        if hasattr(shared.limiter, "check_all"):
            self._rules.ensure_known(shared.limiter)

    def steps(self, request: RouteRequest) -> Generator[Any, Any, Verdict]:
        """Decides; yields what may have to be awaited."""
        return self._logged(self._decided(request), request)

    def _decided(self, request: RouteRequest) -> Steps:
        if not self._shared.enabled or self.hooks.skip is not None and (yield from self._is_skipped(request)):
            return Verdict()
        limiter = self._shared.limiter
        if not hasattr(limiter, "check_all"):
            limiter = limiter(*request.arguments)
            if not hasattr(limiter, "check_all"):
                limiter = yield limiter
            self._shared.check_limiter(limiter)
        choice = self._rules.of(limiter, self._shared.name or request.name or "routes", request)
        try:
            # Where nobody is asked, a step more would take longer than a check.
            is_asked = self._is_asked or choice.is_identified
            checks = (yield from self._checks(choice.rules, request)) if is_asked else self._checks_by_address(choice.rules, request)
        except NoAddress:
            return self._without_address(request)
        except NoHeader as error:
            return self._without_header(request, error)
        try:
            decision = yield called(limiter, choice, checks)
        except InvalidArgumentError as error:
            # What a client chooses is looked at before: this is what the route states.
            raise HookError(f"{request.where}: {error}") from error
        except SluicegateError as error:
            return self._undecided(request, error)
        return (yield from self._told(decision, request))

    def _checks_by_address(self, rules: list[Rule], request: RouteRequest) -> list[Arguments]:
        hooks, policy = self.hooks, self._policy
        return [
            {"rule": rule["rule_id"], "key": address_of(request, hooks, policy, rule), "cost": hooks.cost, "limit": hooks.limit}
            for rule in rules
        ]

    def _checks(self, rules: list[Rule], request: RouteRequest) -> Steps:
        cost = yield from self._number("cost", request)
        limit = yield from self._number("limit", request)
        keys = Keys(self.hooks, self._policy, request, self._passing)
        checks = []
        for rule in rules:
            key = yield from keys.of(rule)
            checks.append({"rule": rule["rule_id"], "key": key, "cost": cost, "limit": limit})
        return checks


def called(limiter: Any, choice: Choice, checks: list[Arguments], *, wait: float | None = None) -> Any:
    """Calls the limiter, which waits for room for so many seconds at most, or not at all."""
    if choice.has_reservations:
        return limiter.reserve_all([Check(**check) for check in checks], wait=wait)
    if len(checks) == 1:
        return limiter.check(**checks[0]) if wait is None else limiter.wait(**checks[0], timeout=wait)
    items = [Check(**check) for check in checks]
    return limiter.check_all(items) if wait is None else limiter.wait_all(items, timeout=wait)


def _ensure_known(owner: str, options: dict[str, Any]) -> None:
    unknown = set(options) - {hook.name for hook in fields(Hooks)}
    if unknown:
        raise TypeError(f"{owner} has no option {', '.join(sorted(unknown))}")


def blocking(steps: Generator[Any, Any, _T], wait: Callable[[Awaitable[Any]], Any] | None = None) -> _T:
    """Carries out steps; `wait` answers what an awaitable leads to, where the framework can."""
    value: Any = None
    throw: BaseException | None = None
    while True:
        try:
            value = steps.send(value) if throw is None else steps.throw(throw)
        except StopIteration as over:
            result: _T = over.value
            return result
        throw = None
        if not inspect.isawaitable(value):
            continue
        if wait is not None:
            try:
                value = wait(value)
            except Exception as error:
                throw = error
            continue
        if inspect.iscoroutine(value):
            value.close()
        throw = CoroutineError(NOT_AWAITED)


async def asynchronous(steps: Generator[Any, Any, _T]) -> _T:
    """Carries out steps, and awaits what can be."""
    value: Any = None
    throw: BaseException | None = None
    while True:
        try:
            value = steps.send(value) if throw is None else steps.throw(throw)
        except StopIteration as over:
            result: _T = over.value
            return result
        throw = None
        if hasattr(value, "__await__") or inspect.isawaitable(value):
            try:
                value = await value
            # Cancelled, too.
            except BaseException as error:
                throw = error


def shared(
    limiter: Any,
    check_limiter: Callable[[Any], None],
    framework: Framework,
    options: dict[str, Any],
) -> Shared:
    """Reads the options of a `RouteLimits`."""
    if not callable(limiter) or hasattr(limiter, "check_all"):
        check_limiter(limiter)
    policy = Policy(
        options.pop("trusted_proxies", 0),
        options.pop("headers", "ietf"),
        options.pop("on_error", "admit"),
        False,
        options.pop("max_lease_seconds", 3600),
        options.pop("forwarded_header", "x-forwarded-for"),
    )
    name, enabled = options.pop("name", None), options.pop("enabled", True)
    ensure("name", "a str", name, name is None or isinstance(name, str))
    ensure("enabled", "a bool", enabled, isinstance(enabled, bool))
    if name == "":
        raise InvalidArgumentError("name is empty")
    _ensure_known("RouteLimits", options)
    if not enabled:
        _LOG.warning("limits of routes are off (enabled=False)")
    return Shared(limiter, check_limiter, policy, Hooks(**options), name, enabled, framework)
