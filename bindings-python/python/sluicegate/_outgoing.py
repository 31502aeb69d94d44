"""Calls of somebody else's API: paced by a limit, and stopped for as long as its answers say."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Any

from ._asynchronous import AsyncRateLimiter
from ._middleware import ensure, ensure_seconds
from ._native import RateLimiter
from ._routes.deciding import asynchronous, blocking
from ._routes.hooks import Hook, Steps, ask, name_of
from ._routes.naming import rule_name
from ._routes.rules import Rule, is_rate
from .errors import InvalidArgumentError, SluicegateError
from .functions import FunctionLimits, RateLimited

_LOG = logging.getLogger("sluicegate")
# Too many requests; and unavailable, of which some providers make the same use.
_REFUSALS = (429, 503)


class Outgoing:
    """What transports of all libraries do: wait for room before a call, and block its key after a refusal."""

    def __init__(
        self,
        limiter: Any,
        limits: tuple[str | Rule, ...],
        *,
        host_of: Hook,
        denied: type[RateLimited],
        key: str | Hook | None,
        cost: int | Hook,
        wait: float,
        name: str,
        enabled: bool,
        max_block_seconds: float,
    ) -> None:
        ensure_seconds("max_block_seconds", max_block_seconds)
        stated = [_blockable(each, name) for each in limits]
        self._key: Hook = (lambda _: key) if isinstance(key, str) else key or host_of
        ensure("key", "a str or a function", key, callable(self._key))
        self._denied = denied
        self._limiter = limiter
        self._enabled = enabled
        self._most = max_block_seconds
        limited = FunctionLimits(limiter, name=name, enabled=enabled)
        self._limited = limited(*stated, key=_of_request(self._key), cost=_of_request(cost), wait=wait)
        self._rule = stated[0]["rule_id"] if isinstance(stated[0], dict) else stated[0]
        if isinstance(limiter, (RateLimiter, AsyncRateLimiter)):
            _ensure_blockable(limiter, self._rule)

    def _told(self, request: Any, response: Any) -> Steps:
        """Blocks the key in every process for as long as the provider says."""
        if not self._enabled or response.status_code not in _REFUSALS:
            return
        seconds = min(_retry_after(response.headers), self._most)
        if seconds <= 0:
            return
        key = name_of("outgoing call", "key", (yield from ask("outgoing call", "key", self._key, (request,), ())))
        try:
            limiter = self._limiter
            if callable(limiter):
                limiter = yield limiter()
            decision = yield limiter.peek(self._rule, key)
            # Another answer may have said that it takes longer.
            if not decision.blocked or decision.retry_after < seconds:
                yield limiter.block(self._rule, key, seconds)
        except SluicegateError as error:
            _LOG.warning("the Retry-After of a provider is not obeyed: %s", error)


class BlockingCalls(Outgoing):
    """Calls of threads."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._paced = self._limited(outgoing_call)

    def send(self, send: Callable[..., Any], request: Any) -> Any:
        """Sends a request when it may be sent."""
        try:
            response = self._paced(request, send)
        except RateLimited as denied:
            raise self._denied(str(denied), denied.decision) from None
        blocking(self._told(request, response))
        return response


class AsyncCalls(Outgoing):
    """Calls of coroutines."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._paced = self._limited(async_outgoing_call)

    async def send(self, send: Callable[..., Awaitable[Any]], request: Any) -> Any:
        """Sends a request when it may be sent."""
        try:
            response = await self._paced(request, send)
        except RateLimited as denied:
            raise self._denied(str(denied), denied.decision) from None
        await asynchronous(self._told(request, response))
        return response


class Paced:
    """Paces what sends the requests of a library, and obeys the provider's `Retry-After`.

    A library's class states what it raises, what it calls by, and how the host of a request is found.
    """

    _denied: type[RateLimited]
    _kind: type[BlockingCalls] | type[AsyncCalls]
    _host: Hook
    # Makes what sends the requests, by the options that are not of pacing.
    _open: Callable[..., None]

    def __init__(
        self,
        limiter: Any,
        *limits: str | Rule,
        key: str | Hook | None = None,
        cost: int | Hook = 1,
        wait: float = 60,
        name: str = "outgoing",
        enabled: bool = True,
        max_block_seconds: float = 3600,
        **options: Any,
    ) -> None:
        self._calls: Any = self._kind(
            limiter,
            limits,
            host_of=type(self)._host,
            denied=self._denied,
            key=key,
            cost=cost,
            wait=wait,
            name=name,
            enabled=enabled,
            max_block_seconds=max_block_seconds,
        )
        self._open(**options)


def outgoing_call(request: Any, send: Callable[..., Any]) -> Any:
    return send(request)


async def async_outgoing_call(request: Any, send: Callable[..., Awaitable[Any]]) -> Any:
    return await send(request)


def _blockable(each: Any, name: str) -> Any:
    """A limit that is stated here, with what `block` needs; the name of a rule stays."""
    if isinstance(each, str) and is_rate(each):
        each = {"rate": "".join(each.split())}
    if not isinstance(each, dict):
        return each
    return {"rule_id": rule_name(name, str(each.get("rate", ""))), "block": {}, **each}


def _ensure_blockable(limiter: RateLimiter | AsyncRateLimiter, name: str) -> None:
    rule = next((rule for rule in limiter.rules() if rule["rule_id"] == name), None)
    if rule is not None and "block" not in rule:
        raise InvalidArgumentError(f'rule "{name}": Retry-After is obeyed by a block (add "block": {{}} to the rule)')


def _of_request(hook: Any) -> Any:
    """A function of the request alone, whatever else a call takes."""
    return (lambda request, _: hook(request)) if callable(hook) else hook


def _retry_after(headers: Any) -> float:
    """The seconds of a `Retry-After`, which may be a date; 0 if there is none, or it cannot be read."""
    stated = headers.get("retry-after") or ""
    if stated.strip().isdecimal():
        return float(stated)
    try:
        # By the clock of the provider, if it tells the time.
        return _time(stated) - (_time(headers["date"]) if "date" in headers else time.time())
    except ValueError:
        return 0.0


def _time(date: str) -> float:
    return parsedate_to_datetime(date).timestamp()
