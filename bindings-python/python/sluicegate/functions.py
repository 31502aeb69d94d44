"""Limits for any function, such as a task of Celery: `@limited("10/minute", key=...)`."""

from __future__ import annotations

import functools
import inspect
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ._asynchronous import AsyncRateLimiter
from ._inflight import AsyncInFlight, InFlight
from ._middleware import ensure, ensure_seconds
from ._native import Decision, RateLimiter, Reserved
from ._routes.blocking import check_limiter
from ._routes.deciding import asynchronous, blocking, called
from ._routes.hooks import Hook, HookError, Hooks, Steps, ask, name_of, whole
from ._routes.request import RouteRequest, among
from ._routes.rules import Rule, RouteRules
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    _Limiter = RateLimiter | AsyncRateLimiter

__all__ = ["FunctionLimits", "RateLimited"]

_LOG = logging.getLogger("sluicegate")
_F = TypeVar("_F", bound=Callable[..., Any])
# The key of calls that are not told apart.
_ALL = "global"


class RateLimited(Exception):
    """A call is denied. `decision` says why, and `retry_after` in how many seconds the same call is admitted."""

    # Made of a text alone by what keeps errors as texts, such as Celery's results.
    def __init__(self, message: str, decision: Decision | None = None) -> None:
        super().__init__(message)
        self.decision = decision
        self.retry_after = decision.retry_after if decision is not None else 0.0


class FunctionLimits:
    """Limits of functions and coroutines that are not at a route.

    Called with rates (`"5/minute"`), names of rules, or rules as data, it answers a decorator; several are decided together, all
    or nothing. A call that is denied raises `RateLimited`. A place of a rule with the algorithm `concurrency` is held while the
    function runs, and what is reserved is charged then, also if the function raises.

    `limiter`: a `RateLimiter` for functions, an `AsyncRateLimiter` for coroutines, or a function that returns one; for coroutines
    it may be a coroutine. What the limiter raises when it cannot decide is raised by the call (its option `fallback` avoids that).

    `name`: begins the names of rules that are stated at functions, so that two services on one Redis count apart.

    `enabled`: False makes every function unlimited.

    `max_lease_seconds`: for how long what is reserved for a call is renewed at most.
    """

    def __init__(
        self,
        limiter: _Limiter | Callable[[], _Limiter | Awaitable[_Limiter]],
        *,
        name: str = "functions",
        enabled: bool = True,
        max_lease_seconds: float = 3600,
    ) -> None:
        is_fit = isinstance(limiter, (RateLimiter, AsyncRateLimiter)) or callable(limiter)
        ensure("limiter", "a RateLimiter, an AsyncRateLimiter, or a function that returns one", limiter, is_fit)
        ensure("name", "a str", name, isinstance(name, str))
        ensure("enabled", "a bool", enabled, isinstance(enabled, bool))
        ensure_seconds("max_lease_seconds", max_lease_seconds)
        if not name:
            raise InvalidArgumentError("name is empty")
        if not enabled:
            _LOG.warning("limits of functions are off (enabled=False)")
        self._limiter = limiter
        self._name = name
        self._enabled = enabled
        self._most = max_lease_seconds

    def __call__(
        self,
        *limits: str | Rule,
        key: str | Hook | None = None,
        cost: int | Hook = 1,
        limit: int | Hook | None = None,
        wait: float | None = None,
        skip: Hook | None = None,
        on_denied: Hook | None = None,
        on_decision: Hook | None = None,
        shared: str | None = None,
    ) -> Callable[[_F], _F]:
        """A decorator for functions and coroutines. Functions that are options get the arguments of the call.

        `key`: who is counted: a text, or a function. Default: all calls count together. `cost`, `limit`: numbers, or functions.
        `wait`: for how many seconds a call waits for room at most, in the order of arrival; None denies at once. `skip`: True
        exempts the call. `on_denied(decision, ...)`: its result is that of the call, in place of the exception.
        `on_decision(decision, ...)`: is called with every decision. `shared`: functions with the same text share their limits.
        """
        hooks = Hooks(
            key=_constant(key) if isinstance(key, str) else key,
            cost=cost,
            limit=limit,
            skip=skip,
            on_denied=on_denied,
            on_decision=on_decision,
        )
        is_number = isinstance(wait, (int, float)) and not isinstance(wait, bool)
        ensure("wait", "a number", wait, wait is None or is_number)
        if wait is not None and not wait >= 0:
            raise InvalidArgumentError(f"wait {wait}: must be 0 or more")
        rules = RouteRules(limits, shared=shared, per_method=False, count=None)
        if isinstance(self._limiter, (RateLimiter, AsyncRateLimiter)):
            rules.ensure_known(self._limiter)
        options = _Options(self._limiter, self._name, rules, hooks, wait)
        return lambda function: self._limited(function, options)

    def _limited(self, function: Any, options: _Options) -> Any:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator runs after its call: limit the function that calls it")
        is_coroutine = inspect.iscoroutinefunction(function)
        if not callable(options.limiter):
            _check(options.limiter, is_coroutine=is_coroutine)
        if not self._enabled:
            return function
        # What is called need not be a function.
        where = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        most = self._most

        @functools.wraps(function)
        async def coroutine(*arguments: Any, **named: Any) -> Any:
            verdict = await asynchronous(_steps(options, _Call.of(where, arguments, named), is_coroutine=True))
            if verdict.is_answered:
                return verdict.answer
            flight = None if verdict.held is None else AsyncInFlight(verdict.held, most)
            try:
                return await function(*arguments, **named)
            finally:
                if flight is not None:
                    await flight.ended()

        @functools.wraps(function)
        def blocked(*arguments: Any, **named: Any) -> Any:
            verdict = blocking(_steps(options, _Call.of(where, arguments, named), is_coroutine=False))
            if verdict.is_answered:
                return verdict.answer
            flight = None if verdict.held is None else InFlight(verdict.held, most)
            try:
                return function(*arguments, **named)
            finally:
                if flight is not None:
                    flight.end()

        return coroutine if is_coroutine else blocked


@dataclass(frozen=True)
class _Options:
    """What is stated at one function."""

    limiter: Any
    name: str
    rules: RouteRules
    hooks: Hooks
    wait: float | None


@dataclass
class _Call(RouteRequest):
    """A call, in place of a request."""

    named: dict[str, Any]

    @classmethod
    def of(cls, function: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> _Call:
        return cls(arguments, "", function, None, None, among([]), {}, named)

    @property
    def where(self) -> str:
        return f"function {self.template}"

    def ask(self, name: str, hook: Hook, *before: object) -> Steps:
        """Calls a function of the application. What it raises by intent, such as Celery's `Retry`, passes."""
        asked = functools.partial(hook, **self.named)
        passing = (Exception,) if name == "on_denied" else ()
        return (yield from ask(self.where, name, asked, (*before, *self.arguments), passing))


@dataclass(frozen=True)
class _Verdict:
    held: Any = None
    # What `on_denied` answers.
    is_answered: bool = False
    answer: Any = None


def _steps(options: _Options, call: _Call, *, is_coroutine: bool) -> Steps:
    """Decides; yields what may have to be awaited."""
    hooks = options.hooks
    if hooks.skip is not None and (yield from call.ask("skip", hooks.skip)):
        return _Verdict()
    limiter = options.limiter
    if callable(limiter):
        limiter = yield limiter()
        _check(limiter, is_coroutine=is_coroutine)
    choice = options.rules.of(limiter, options.name, call)
    checks = yield from _checks(choice.rules, hooks, call)
    decision = yield called(limiter, choice, checks, wait=options.wait)
    if hooks.on_decision is not None:
        try:
            yield from call.ask("on_decision", hooks.on_decision, decision)
        except HookError as error:
            # It only looks.
            _LOG.error("%s", error)
    if decision:
        return _Verdict(decision if isinstance(decision, Reserved) and decision.id is not None else None)
    if hooks.on_denied is None:
        raise _denied(decision)
    return _Verdict(is_answered=True, answer=(yield from call.ask("on_denied", hooks.on_denied, decision)))


def _denied(decision: Decision) -> RateLimited:
    when = "it never fits" if math.isinf(decision.retry_after) else f"retry in {decision.retry_after:.3g} s"
    # A plain decision: exceptions are pickled, and reservations cannot be.
    plain = Decision(**decision.__getnewargs_ex__()[1])
    return RateLimited(f'denied by rule "{decision.rule}": {when}', plain)


def _checks(rules: list[Rule], hooks: Hooks, call: _Call) -> Steps:
    key: Any = _ALL
    if hooks.key is not None:
        key = name_of(call.where, "key", (yield from call.ask("key", hooks.key)))
    numbers: dict[str, Any] = {"cost": hooks.cost, "limit": hooks.limit}
    for name, stated in numbers.items():
        if callable(stated):
            value = yield from call.ask(name, stated)
            numbers[name] = None if value is None and name == "limit" else whole(call.where, name, value)
    return [{"rule": rule["rule_id"], "key": key, **numbers} for rule in rules]


def _constant(key: str) -> Hook:
    return lambda *_, **__: key


def _check(limiter: object, *, is_coroutine: bool) -> None:
    """A coroutine must not block its loop, and a function cannot await."""
    if not is_coroutine:
        return check_limiter(limiter)
    is_fit = isinstance(limiter, AsyncRateLimiter)
    ensure("limiter", "an AsyncRateLimiter for a coroutine, or a function that returns one", limiter, is_fit)
